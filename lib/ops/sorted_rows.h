// Dispatches tokens to experts and combines the results, for model/experts.cpp. It copies each token's row once per
// expert that the token chose, sorted by expert ("group"), and later sums the experts' results per token. A token's sum
// runs in the order of its choices, so its bits do not depend on other tokens.
// Legend: T tokens, K choices (experts) of each token, E width of a row, G groups.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/row_groups.h"

namespace roll {

/// Order of the T * K (token, choice) pairs by group; within a group by token, then by choice.
struct SortedRows {
  at::Tensor order;        // [T * K] int64: token * K + choice of each sorted row
  at::Tensor choice_rows;  // [T, K] int64: index of each choice's row among the sorted rows
  RowGroups groups;        // numbers of rows of the G groups
};

/// Returns the order for the chosen groups, `groups` [T, K] int64 in [0, num_groups), without waiting for the device.
/// If `groups` is a meta tensor (planned_tensors.h), the rows are spread evenly over the groups.
SortedRows sort_rows(const at::Tensor& groups, int64_t num_groups);

/// Returns the sorted rows, each a copy of its token's row: x [T, E] -> [T * K, E]. Differentiable; backward sums in
/// float32 (float64 for float64).
at::Tensor spread_rows(const at::Tensor& x, const SortedRows& rows);

/// Returns for each token the weighted sum of its K rows: sorted rows x [T * K, E], weights [T, K] float32 or float64
/// -> [T, E] in x's dtype. Computed in the weights' dtype. Differentiable by x and weights.
at::Tensor combine_rows(const at::Tensor& x, const at::Tensor& weights, const SortedRows& rows);

}  // namespace roll
