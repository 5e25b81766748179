// Linear layers of all experts of a mixture in one call, for model/experts.cpp. The rows of x are sorted by expert
// ("group"), without padding, and each group of rows is multiplied by its own weights. If the GPU has grouped matrix
// products (grouped_products.h), one kernel computes all groups and the host does not wait for the device. Otherwise
// there is one matrix product per group, and the host waits for the groups' row counts if the device computed them.
// Legend: T rows of all groups, G groups, K inputs, N outputs of one weight matrix.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ops/row_groups.h"

namespace roll {

/// Returns x W^T with the weights W of each row's group: x [T, K] -> [T, parts * N]. Each group has `parts` weight
/// matrices [N, K], for example gate and up. weights[g * parts + p] makes the columns from p * N to (p + 1) * N - 1 of
/// group g's rows. Differentiable. Backward adds weight gradients to weight.grad() like accumulating_linear(). Weights
/// of a group without rows get no gradient or zeros. The grouped kernel rounds gradients to bfloat16 before it adds
/// them. Throws Bug if the number of weights is not parts * G.
at::Tensor grouped_linear(const at::Tensor& x, const RowGroups& groups, const std::vector<at::Tensor>& weights,
                          int64_t parts = 1);

}  // namespace roll
