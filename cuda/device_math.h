// Fast math functions for kernels: one or two GPU instructions each. On the CPU, where tests run the kernels, they call
// the more exact C library.
#pragma once

#include <cmath>

#include "base/host_device.h"

namespace roll {

/// Returns 2^x with a relative error below 2^-21; 0 for denormal results.
ROLL_HOST_DEVICE float float_exp2(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

/// Returns x / y with a relative error below 2^-21, for |y| below 2^126.
ROLL_HOST_DEVICE float float_quotient(float x, float y) {
#ifdef __CUDA_ARCH__
  return __fdividef(x, y);
#else
  return x / y;
#endif
}

/// Returns sqrt(x) with a relative error below 2^-21; 0 for denormal x.
ROLL_HOST_DEVICE float float_root(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return sqrtf(x);
#endif
}

/// Returns the number of consecutive 1 bits from the lowest bit up; 32 if all are 1.
ROLL_HOST_DEVICE int ones_from_below(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __clz(__brev(~bits));
#else
  return __builtin_ctzll(~uint64_t{bits});
#endif
}

/// Returns p, but hides from the compiler that the result equals p. Called in each iteration of a loop, it makes the
/// compiler load the values again in each iteration instead of keeping them in registers.
template <class T>
ROLL_HOST_DEVICE const T* opaque_pointer(const T* p) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(p));
#endif
  return p;
}

constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

}  // namespace roll
