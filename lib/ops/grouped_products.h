// Grouped GEMMs for grouped_linear.h: one kernel multiplies sorted rows by their groups' matrices and reads the group
// ends on the device. They are LibTorch's, for bfloat16 on GPUs of compute capability 9 and 10.
// Legend: T rows, G groups, K inputs, N outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// True if a grouped GEMM supports x [T, K] with this number of groups and `outputs` outputs per group.
bool has_grouped_products(const at::Tensor& x, int64_t groups, int64_t outputs);

/// Returns matrices [N, K], `parts` per group, as one tensor [G, parts N, K]: a view of their memory if they are evenly
/// spaced, else a copy.
at::Tensor stacked(const std::vector<at::Tensor>& matrices, int64_t parts);
/// Like stacked(), but returns undefined if a copy were needed or a matrix is undefined.
at::Tensor stacked_in_place(const std::vector<at::Tensor>& matrices, int64_t parts);

/// Returns x w^T [T, N] for each row's group: x [T, K], weights [G, N, K], ends [G] int32, the last one T.
at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& ends);
/// Returns d w [T, K] for each row's group: d [T, N].
at::Tensor grouped_input_gradient(const at::Tensor& d, const at::Tensor& weights, const at::Tensor& ends);
/// Returns d^T x of each group: [G, N, K]; zeros for a group without rows.
at::Tensor grouped_weight_gradient(const at::Tensor& d, const at::Tensor& x, const at::Tensor& ends);

}  // namespace roll
