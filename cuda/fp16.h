// float16 as bits, for kernels and the CPU code that shares their arithmetic; bfloat16: bf16.h. Conversions on host and
// device agree bit by bit, except for the payload of NaN.
#pragma once

#include "base/host_device.h"

namespace roll {

/// A float16 (IEEE 754 binary16).
struct Fp16 {
  uint16_t bits;
};

ROLL_HOST_DEVICE float to_float(Fp16 x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#else
  const uint32_t magnitude = static_cast<uint32_t>(x.bits & 0x7FFF) << 13, sign = static_cast<uint32_t>(x.bits >> 15);
  const bool is_finite = magnitude < 0x7C00u << 13;
  // The shifted exponent is 112 too small; multiplying by 2^112 corrects it, also for denormals.
  return float_from_bits(sign << 31 |
                         (is_finite ? float_bits(float_from_bits(magnitude) * 0x1p112f) : magnitude | 0x7F800000u));
#endif
}

/// Rounds x to the nearest float16, ties to even; |x| >= 65520 becomes infinity of the same sign.
ROLL_HOST_DEVICE void store(Fp16& to, float x) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  const uint32_t magnitude = float_bits(x) & 0x7FFFFFFFu, sign = float_bits(x) >> 31 << 15;
  uint32_t half = (magnitude - (112u << 23) + 0xFFFu + (magnitude >> 13 & 1)) >> 13;
  if (magnitude < 113u << 23)
    half = float_bits(float_from_bits(magnitude) + 0.5f) - float_bits(0.5f);  // last bit: 2^-24
  if (magnitude >= 0x477FF000u) half = magnitude > 0x7F800000u ? 0x7E00 : 0x7C00;
  to.bits = static_cast<uint16_t>(sign | half);
#endif
}

}  // namespace roll
