// Supports planned runs: a forecast runs the code of training with models whose tensors have no data (device
// at::kMeta), to count the communication between ranks. Shapes, dtypes and collectives are those of a real run. Losses
// need numbers, so a model's outputs per token become zeros.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Returns x; if x is a meta tensor, returns zeros of its shape and dtype on the CPU. Differentiable: the gradient of a
/// meta tensor is a meta tensor.
at::Tensor numbers_or_zeros(const at::Tensor& x);

}  // namespace roll
