// Linear layers of all experts of a mixture at once: x has the experts' rows sorted by expert ("group"), without
// padding, and each group of rows is multiplied by its own weights. If the GPU has grouped matrix products
// (grouped_products.h), one kernel computes all groups and the host does not wait for the device; otherwise there is
// one matrix product per group, and the host waits for the groups' row counts if the device computed them.
// Legend: T rows, K inputs, N outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ops/row_groups.h"

namespace roll {

/// Returns x W^T with the weights W of each row's group: x [T, K] -> [T, parts * N]. Each group has `parts` weights [N,
/// K] (gate and up, say), one after another in `weights`; their results are side by side. Differentiable. Backward adds
/// weight gradients to weight.grad() as in accumulating_linear(); weights of a group without rows get no gradient or
/// zeros. The grouped kernel rounds them to bfloat16 before they are added. Throws Bug if there are not parts * groups
/// weights.
at::Tensor grouped_linear(const at::Tensor& x, const RowGroups& groups, const std::vector<at::Tensor>& weights,
                          int64_t parts = 1);

}  // namespace roll
