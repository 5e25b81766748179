// Support for models whose tensors have no data (device at::kMeta), with which a forecast runs the code of training to
// count the communication between ranks: shapes, dtypes and gradients are those of a real run. Losses need numbers, so
// a model's outputs per token become zeros.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Returns x; if x has no data, zeros of its shape and dtype on the CPU. Differentiable: the gradient then has no data.
at::Tensor numbers_or_zeros(const at::Tensor& x);

}  // namespace roll
