// Linear layers of mixture-of-experts models: rows sorted by group (expert) times each group's weight, without padding.
// If the GPU has grouped GEMMs (grouped_products.h), one kernel serves all groups and the host does not wait. Otherwise
// there is one GEMM per group, for which the host must know the groups' row counts.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ops/row_groups.h"

namespace roll {

/// Multiplies the rows of each group by its weights: x [T, K], sorted by group -> [T, parts N]. `weights`: [N, K] each,
/// `parts` per group, with results side by side. Weight gradients are added to weight.grad() like
/// accumulating_linear()'s; a group without rows gets none, or zeros. With one kernel, they are rounded to bfloat16
/// before they are added.
at::Tensor grouped_linear(const at::Tensor& x, const RowGroups& groups, const std::vector<at::Tensor>& weights,
                          int64_t parts = 1);

}  // namespace roll
