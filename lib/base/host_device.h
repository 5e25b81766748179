// Macros and bit casts for functions that are compiled for CUDA kernels and for the CPU; both give the same bits.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
/// Marks functions that kernels and CPU code call; they are always inlined.
#define ROLL_HOST_DEVICE __host__ __device__ __forceinline__
/// Marks kernel bodies written as templates over a thread block (cuda/lane_block.h). Without CUDA, tests run them on
/// the CPU, so the macro is then empty.
#define ROLL_KERNEL_TEXT __device__
#else
#define ROLL_HOST_DEVICE inline __attribute__((always_inline))  // compiled for its caller's processor
#define ROLL_KERNEL_TEXT
#endif

namespace roll {

/// Returns the IEEE 754 bits of x.
ROLL_HOST_DEVICE uint32_t float_bits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}

/// Returns the float with these bits.
ROLL_HOST_DEVICE float float_from_bits(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

}  // namespace roll
