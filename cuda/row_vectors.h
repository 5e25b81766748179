// 16-byte loads and stores for the training kernels (layer_kernels.h, head_kernels.h), with conversion to float32.
// Arrays must be 16-byte aligned. T: float or Bf16. Block: LaneBlock (lane_block.h). `index` counts vectors of kVec<T>
// elements, so that vector `index` is elements [index * kVec<T>, (index + 1) * kVec<T>). Any lane may call these alone.
#pragma once

#include "cuda/device_math.h"
#include "cuda/lane_block.h"

namespace roll {

/// Number of T in 16 bytes: 4 or 8.
template <class T>
constexpr int kVec = 16 / sizeof(T);

/// 16 bytes of T.
template <class T>
using Vec = Vector<T, kVec<T>>;
/// The elements of a Vec<T> as float32: 16 or 32 bytes.
template <class T>
using WideVec = Vector<float, kVec<T>>;

/// Loads vector `index` of the array `from`.
template <class Block, class T>
ROLL_KERNEL_TEXT Vec<T> load_vec(const Block& block, const T* from, int64_t index) {
  return block.template load<kVec<T>>(from + index * kVec<T>);
}

/// Stores `vec` as vector `index` of the array `to`.
template <class Block, class T>
ROLL_KERNEL_TEXT void store_vec(const Block& block, T* to, int64_t index, const Vec<T>& vec) {
  block.template store<kVec<T>>(to + index * kVec<T>, vec);
}

/// Converts a vector to float32.
template <class T>
ROLL_HOST_DEVICE WideVec<T> widened(const Vec<T>& vec) {
  WideVec<T> wide;
  for (int i = 0; i < kVec<T>; ++i) wide.at[i] = to_float(vec.at[i]);
  return wide;
}

/// Loads vector `index` of an array of T and converts it to float32.
template <class Block, class T>
ROLL_KERNEL_TEXT WideVec<T> load_widened(const Block& block, const T* from, int64_t index) {
  return widened<T>(load_vec(block, from, index));
}

/// Loads elements [index * kVec<T>, (index + 1) * kVec<T>) of a float32 array: for Bf16 eight floats, 32 bytes, which
/// still need an alignment of 16 bytes only. Used for float32 tables, such as cosines, beside vector `index` of T data.
template <class T, class Block>
ROLL_KERNEL_TEXT WideVec<T> load_floats(const Block& block, const float* from, int64_t index) {
  return block.template load<kVec<T>>(from + index * kVec<T>);
}

/// Returns 1 / sqrt(x).
ROLL_HOST_DEVICE float reciprocal_root(float x) {
#ifdef __CUDA_ARCH__
  return rsqrtf(x);
#else
  return 1.0f / sqrtf(x);
#endif
}

ROLL_HOST_DEVICE float float_sigmoid(float x) {
  return float_quotient(1.0f, 1.0f + float_exp2(-x * kLog2E));
}

ROLL_HOST_DEVICE int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

}  // namespace roll
