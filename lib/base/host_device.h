// Macros and bit casts for arithmetic that CUDA kernels and the CPU share; both give the same bits.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define ROLL_HOST_DEVICE __host__ __device__ __forceinline__
/// Marks kernel bodies written as templates over a block of lanes (cuda/lane_block.h); tests run them on fibres.
#define ROLL_KERNEL_TEXT __device__
#else
#define ROLL_HOST_DEVICE inline __attribute__((always_inline))  // compiled for its caller's processor
#define ROLL_KERNEL_TEXT
#endif

namespace roll {

ROLL_HOST_DEVICE uint32_t float_bits(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}

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
