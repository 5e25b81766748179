// Products of rows that are sorted by group with a weight of each group: a product over each group's own rows, none of
// which is padding. Where a GPU has grouped products (grouped_products.h), one kernel for all groups, and the host does
// not wait; elsewhere one after the other, for which it must know the groups' counts.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "ops/row_groups.h"

namespace roll {

/// x [T, K], of which the first rows are multiplied with the weights of the first group, and so on -> [T, parts N].
/// `weights` [N, K]: `parts` of each group, whose results stand side by side. Gradients of weights are kept as
/// accumulating_linear() keeps them; a weight without rows has none, or zeros. As one kernel they are bfloat16 before
/// they are added to those that are there.
at::Tensor grouped_linear(const at::Tensor& x, const RowGroups& groups, const std::vector<at::Tensor>& weights,
                          int64_t parts = 1);

}  // namespace roll
