// Linear layers (y = x W^T + b) for model/linear.h. Backward adds to weight.grad() as a part of the GEMM.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// Returns x W^T + b like at::linear: x [T, K], weight [N, K], bias [N] or undefined -> [T, N]. If weight.grad()
/// exists, backward adds to it in place and returns no gradient to autograd, which saves memory and a pass.
/// Post-accumulate hooks still run. Results must be differentiated with backward(), not autograd::grad().
at::Tensor accumulating_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// Returns the products with several weights [N_i, K], side by side: [T, sum of N_i]. `biases`: [N_i] each, or empty.
/// Weights that are adjacent in memory, as in an optimizer's flat buffer, take one GEMM, and so does their gradient.
at::Tensor packed_linear(const at::Tensor& x, const std::vector<at::Tensor>& weights,
                         const std::vector<at::Tensor>& biases = {});

/// Computes kept += dY^T X in one GEMM, dY [T, N], X [T, K]. Returns false, without effect, if `kept` is undefined or
/// has another dtype than X; on a GPU, `kept` may also be float32 for narrower X.
bool adds_product(at::Tensor kept, const at::Tensor& d_out, const at::Tensor& x);

/// Returns dY^T X [N, K] in dY's dtype, or undefined if adds_product() added it to weight.grad().
at::Tensor weight_gradient(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& weight);

}  // namespace roll
