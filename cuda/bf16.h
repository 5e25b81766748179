// bfloat16 as its bits, the same on host and device, but for which NaN.
#pragma once

#include "base/host_device.h"

namespace roll {

struct Bf16 {
  uint16_t bits;
};

ROLL_HOST_DEVICE float to_float(float x) {
  return x;
}

ROLL_HOST_DEVICE float to_float(Bf16 x) {
  return float_of(static_cast<uint32_t>(x.bits) << 16);
}

ROLL_HOST_DEVICE void store(float& to, float x) {
  to = x;
}

/// To the nearest, of two the even one.
ROLL_HOST_DEVICE void store(Bf16& to, float x) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  const uint32_t bits = bits_of(x);
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  to.bits = static_cast<uint16_t>(is_nan ? 0x7FC0u : (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
#endif
}

/// A word of as many T as it holds of x: word_of<float>(x) is x[0], word_of<Bf16>(x) x[0] and x[1], each rounded.
template <class T>
ROLL_HOST_DEVICE uint32_t word_of(const float* x) {
  if (sizeof(T) == 4) return bits_of(x[0]);
#ifdef __CUDA_ARCH__
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(x[1]), "f"(x[0]));
  return word;
#else
  Bf16 halves[2];
  store(halves[0], x[0]), store(halves[1], x[1]);
  return halves[0].bits | static_cast<uint32_t>(halves[1].bits) << 16;
#endif
}

/// Number p of a word of T.
template <class T>
ROLL_HOST_DEVICE float float_in_word(uint32_t word, int p) {
  return float_of(sizeof(T) == 4 ? word : p == 0 ? word << 16 : word & 0xFFFF0000u);
}

}  // namespace roll
