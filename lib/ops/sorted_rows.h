// Sorts token rows by group (expert) and combines them again, for mixture-of-experts layers. A token's sum runs in the
// order of its choices, so it does not depend on other tokens.
// Legend: T tokens, K choices (groups per token), E width, G groups.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/row_groups.h"

namespace roll {

struct SortedRows {
  at::Tensor order;        // [T K] int64: flat index (token * K + choice) of each sorted row
  at::Tensor choice_rows;  // [T, K] int64: index of each choice's sorted row
  RowGroups groups;        // [G]
};

/// Sorts the choices `groups` [T, K] int64 in [0, G) without waiting for the device. If `groups` has no data, rows are
/// spread evenly over the groups.
SortedRows sort_rows(const at::Tensor& groups, int64_t num_groups);

/// Copies each token's row to its choices, sorted by group: x [T, E] -> [T K, E]. Backward sums in float32.
at::Tensor spread_rows(const at::Tensor& x, const SortedRows& rows);

/// Returns the weighted sum of each token's rows, [T, E] in x's dtype: x [T K, E], weights [T, K] float32 or wider. The
/// sum is computed in the weights' dtype.
at::Tensor combine_rows(const at::Tensor& x, const at::Tensor& weights, const SortedRows& rows);

}  // namespace roll
