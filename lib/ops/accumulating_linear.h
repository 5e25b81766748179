// y = x W^T + b whose backward adds the weights' gradient where it is kept, as part of the matrix product.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// x [T, K], weight [N, K], bias [N] or undefined -> [T, N]. As at::linear, but: where weight.grad() exists,
/// backward adds to it in place instead of handing a gradient of its own to autograd, which would cost memory and a
/// pass over it; post-accumulate hooks run all the same. So use backward(), not autograd::grad(), on what is made
/// of such products.
at::Tensor accumulating_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// Of weights [N_i, K], with biases [N_i] or none of them, the results side by side: [T, sum of N_i]. Where weights lie
/// one behind the other, as in an optimizer's flat buffer, that is one product, and so is their gradient.
at::Tensor packed_linear(const at::Tensor& x, const std::vector<at::Tensor>& weights,
                         const std::vector<at::Tensor>& biases = {});

/// kept += dY^T X, dY [T, N], X [T, K], where a device does it in one product: in one dtype, and on a GPU of bfloat16
/// in float32. Else false, and nothing is done.
bool adds_product(at::Tensor kept, const at::Tensor& d_out, const at::Tensor& x);

/// dY^T X [N, K] of weight [N, K]: added to the gradient that it has, where adds_product() can, and undefined; else a
/// tensor in x's dtype.
at::Tensor weight_gradient(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& weight);

}  // namespace roll
