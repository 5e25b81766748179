// Views of the buffers and weights of the device decoder, for device_decoder.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include <type_traits>

#include "cuda/launch_kernel.h"

namespace roll {

/// Returns x / y rounded up, for x >= 0 and y > 0.
inline int64_t ceil_quotient(int64_t x, int64_t y) {
  return (x + y - 1) / y;
}

/// ATen's dtype of T: float, Bf16 or Fp16.
template <class T>
constexpr at::ScalarType kScalarType = std::is_same_v<T, float>  ? at::kFloat
                                       : std::is_same_v<T, Bf16> ? at::kBFloat16
                                                                 : at::kHalf;

/// Returns the tensor's data as T*; null if it is undefined. T: the element type, or the type of the structs in a byte
/// tensor.
template <class T>
T* tensor_data(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}

/// Returns a view of the first `count` rows.
inline at::Tensor first_rows(const at::Tensor& tensor, int64_t count) {
  return tensor.narrow(0, 0, count);
}

/// Returns a contiguous view [count, width] of the first count * width elements of a contiguous buffer. If the buffer's
/// rows are wider, these are not its first columns.
inline at::Tensor dense_rows(const at::Tensor& buffer, int64_t count, int64_t width) {
  return buffer.view({-1}).narrow(0, 0, count * width).view({count, width});
}

/// Returns the tensor detached and contiguous, a copy only if needed; an undefined tensor stays undefined.
inline at::Tensor plain(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().contiguous() : tensor;
}

}  // namespace roll
