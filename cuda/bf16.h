// bfloat16 as bits, for kernels and the CPU code that shares their arithmetic; float16: fp16.h. Conversions on host and
// device agree bit by bit, except for the payload of NaN.
#pragma once

#include "base/host_device.h"

namespace roll {

/// A bfloat16.
struct Bf16 {
  uint16_t bits;
};

ROLL_HOST_DEVICE float to_float(float x) {
  return x;
}

ROLL_HOST_DEVICE float to_float(Bf16 x) {
  return float_from_bits(static_cast<uint32_t>(x.bits) << 16);
}

/// Converts x to the type of `to`: float, Bf16 (below) or Fp16 (fp16.h).
ROLL_HOST_DEVICE void store(float& to, float x) {
  to = x;
}

/// Rounds x to the nearest bfloat16, ties to even.
ROLL_HOST_DEVICE void store(Bf16& to, float x) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  const uint32_t bits = float_bits(x);
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  to.bits = static_cast<uint16_t>(is_nan ? 0x7FC0u : (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
#endif
}

}  // namespace roll
