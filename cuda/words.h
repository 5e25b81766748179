// 32-bit words as tensor cores read them: one float, or two Bf16 or Fp16 with element 0 in the low 16 bits.
// Used by attend_pages.h and lane_block.h.
#pragma once

#include <type_traits>

#include "cuda/bf16.h"
#include "cuda/fp16.h"

namespace roll {

/// Packs x[0] (T = float), or x[0] and x[1], rounded to nearest (T = Bf16 or Fp16), into a word.
template <class T>
ROLL_HOST_DEVICE uint32_t packed_word(const float* x) {
  if constexpr (sizeof(T) == 4) {
    return float_bits(x[0]);
  } else {
#ifdef __CUDA_ARCH__
    uint32_t word;
    if constexpr (std::is_same_v<T, Bf16>)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(x[1]), "f"(x[0]));
    else
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(x[1]), "f"(x[0]));
    return word;
#else
    T halves[2];
    store(halves[0], x[0]), store(halves[1], x[1]);
    return halves[0].bits | static_cast<uint32_t>(halves[1].bits) << 16;
#endif
  }
}

/// Returns element p of a word of T as float: p = 0, or for 16-bit types also 1.
template <class T>
ROLL_HOST_DEVICE float float_in_word(uint32_t word, int p) {
  if constexpr (sizeof(T) == 4)
    return float_from_bits(word);
  else
    return to_float(T{static_cast<uint16_t>(p == 0 ? word & 0xFFFFu : word >> 16)});
}

}  // namespace roll
