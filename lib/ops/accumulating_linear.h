// y = x W^T + b whose backward adds the weights' gradient where it is kept, as part of the matrix product.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

/// x [T, K], weight [N, K], bias [N] or undefined -> [T, N]. As at::linear, but: where weight.grad() exists,
/// backward adds to it in place instead of handing a gradient of its own to autograd, which would cost memory and a
/// pass over it; post-accumulate hooks run all the same. So use backward(), not autograd::grad(), on what is made
/// of such products.
at::Tensor accumulating_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

}  // namespace roll
