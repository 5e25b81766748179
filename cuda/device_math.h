// Functions that a GPU has an instruction for. On the CPU they are the C library's, which round better.
#pragma once

#include <cmath>

#include "base/host_device.h"

namespace roll {

/// 2^x with a relative error below 2^-21; 0 where the result would be denormal.
ROLL_HOST_DEVICE float exp2_of(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

/// x / y with a relative error below 2^-21, for |y| below 2^126.
ROLL_HOST_DEVICE float quotient_of(float x, float y) {
#ifdef __CUDA_ARCH__
  return __fdividef(x, y);
#else
  return x / y;
#endif
}

/// sqrt(x) with a relative error below 2^-21; 0 of what is denormal.
ROLL_HOST_DEVICE float root_of(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return sqrtf(x);
#endif
}

/// How many of the lowest bits are 1 before the first 0.
ROLL_HOST_DEVICE int ones_from_below(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __clz(__brev(~bits));
#else
  return __builtin_ctzll(~uint64_t{bits});
#endif
}

/// p, behind which a GPU's compiler keeps nothing in registers from one pass of a loop to the next.
template <class T>
ROLL_HOST_DEVICE const T* reread(const T* p) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(p));
#endif
  return p;
}

constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

}  // namespace roll
