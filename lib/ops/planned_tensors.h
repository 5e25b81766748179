// Tensors without data (at::kMeta), of which a planned run makes its models: shapes, dtypes and gradients are those of
// a real run, so that what ranks would send each other can be counted. What a model computes for each token becomes
// real numbers again.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// What a model computed, as numbers: x, or zeros on the CPU where x has no data. Differentiable.
at::Tensor numbers_of(const at::Tensor& x);

}  // namespace roll
