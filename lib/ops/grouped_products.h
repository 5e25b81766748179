// Grouped matrix products for grouped_linear.h: one kernel of LibTorch multiplies rows that are sorted by group, each
// by the matrix of its group. For bfloat16 on GPUs of compute capability 9 and 10.
// Legend: T rows, G groups, K inputs, N outputs (of all matrices of a group). `ends` [G] int32 on the device holds for
// each group the index after its last row; the last element is T. All functions work without autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// Returns true if the kernel supports x [T, K] with this number of groups and `outputs` outputs per weight matrix.
bool has_grouped_products(const at::Tensor& x, int64_t groups, int64_t outputs);

/// Returns `matrices` [n, K], which are `parts` per group, group after group, as one detached tensor [G, parts * n, K].
/// It is a view if they are evenly spaced in memory, else a copy.
at::Tensor stacked(const std::vector<at::Tensor>& matrices, int64_t parts);
/// Like stacked(), but returns an undefined tensor if a copy would be needed or a matrix is undefined.
at::Tensor stacked_in_place(const std::vector<at::Tensor>& matrices, int64_t parts);

/// Returns x w^T, [T, N], with the matrix w of each row's group: x [T, K], weights [G, N, K].
at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& ends);
/// Returns the gradient of x: d w, [T, K], with the matrix w of each row's group, and the output's gradient d [T, N].
at::Tensor grouped_input_gradient(const at::Tensor& d, const at::Tensor& weights, const at::Tensor& ends);
/// Returns the gradient of the weights, [G, N, K]: d^T x over the rows of each group, with d [T, N] and x [T, K]. It is
/// 0 for a group without rows.
at::Tensor grouped_weight_gradient(const at::Tensor& d, const at::Tensor& x, const at::Tensor& ends);

}  // namespace roll
