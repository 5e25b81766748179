// Tensors without data (at::kMeta), for the models of a planned run. Shapes, dtypes and gradients are those of a real
// run, so that the communication between ranks can be counted. A model's outputs per token become real numbers again.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// Returns x, or zeros on the CPU if x has no data. Differentiable.
at::Tensor numbers_or_zeros(const at::Tensor& x);

}  // namespace roll
