// Linear layers y = x W^T + b for the models. Their backward adds to an existing weight.grad() within the matrix
// product, instead of returning a gradient that autograd adds.
// Legend: T rows, K inputs, N outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// Returns x W^T + b like at::linear: x [T, K], weight [N, K], bias [N] or undefined -> [T, N]. If weight.grad()
/// exists, backward adds to it in place and returns no gradient to autograd, which saves memory and a pass;
/// post-accumulate hooks still run. Differentiate results with backward(): autograd::grad() would miss the weight's
/// gradient.
at::Tensor accumulating_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// Returns several linear layers of the same x [T, K] side by side: weights [N_i, K] -> [T, sum of N_i]. `biases`:
/// [N_i] each, or an empty list. Weights that are adjacent in memory, as in an optimizer's flat buffer, take one matrix
/// product, and so do their gradients. Gradients are handled as in accumulating_linear().
at::Tensor packed_linear(const at::Tensor& x, const std::vector<at::Tensor>& weights,
                         const std::vector<at::Tensor>& biases = {});

/// Adds a weight's gradient, d_out^T x, to `kept` [N, K] in one matrix product: d_out [T, N], x [T, K]. Returns false
/// and does nothing if `kept` is undefined, or has another dtype than x (on a GPU, `kept` may also be float32).
bool try_add_product(at::Tensor kept, const at::Tensor& d_out, const at::Tensor& x);

/// Adds d_out^T x to weight.grad() if try_add_product() can, and then returns undefined; else returns d_out^T x [N, K]
/// in d_out's dtype.
at::Tensor weight_gradient(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& weight);

}  // namespace roll
