// Products of sorted rows with the matrices of their groups in one kernel, which reads on the device where each group
// ends: LibTorch's grouped products, of bfloat16 on GPUs of compute capability 9 and 10.
// Legend: T rows, G groups, K inputs, N outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// Whether there are such products of x [T, K] for so many groups with `outputs` outputs each.
bool has_grouped_products(const at::Tensor& x, int64_t groups, int64_t outputs);

/// Matrices [N, K], `parts` of each group one behind the other, as one [G, parts N, K]: over their own memory where
/// they lie equally far apart, else a copy.
at::Tensor stacked(const std::vector<at::Tensor>& matrices, int64_t parts);
/// The same; undefined where it were a copy, or where there is none.
at::Tensor stacked_in_place(const std::vector<at::Tensor>& matrices, int64_t parts);

/// x [T, K], weights [G, N, K], ends [G] int32, the last one T -> x w^T [T, N].
at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& ends);
/// d [T, N] -> d w [T, K].
at::Tensor grouped_input_gradient(const at::Tensor& d, const at::Tensor& weights, const at::Tensor& ends);
/// d^T x of each group: [G, N, K]; zeros of one without rows.
at::Tensor grouped_weight_gradient(const at::Tensor& d, const at::Tensor& x, const at::Tensor& ends);

}  // namespace roll
