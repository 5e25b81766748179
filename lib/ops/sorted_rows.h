// Rows of tokens, sorted by the group (expert) that each of them goes to, and back. A token's sum is made in the order
// of its own choices, so it does not depend on the tokens beside it.
// Legend: T tokens, K groups of each, E width, G groups.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/row_groups.h"

namespace roll {

struct SortedRows {
  at::Tensor order;   // [T K] int64: of each sorted row, which of the T K choices it is
  at::Tensor places;  // [T, K] int64: where each choice's row lies
  RowGroups groups;   // [G]
};

/// groups [T, K] int64 in [0, G); without data, as many rows for each. Nobody waits for the device.
SortedRows sort_rows(const at::Tensor& groups, int64_t num_groups);

/// x [T, E] -> [T K, E]: the row of each choice, sorted. Gradients of a token's rows are added in float32.
at::Tensor spread_rows(const at::Tensor& x, const SortedRows& rows);

/// x [T K, E], weights [T, K] float32 or wider -> [T, E] in x's dtype: of each token the weighted sum of its rows, made
/// in the weights' dtype.
at::Tensor combine_rows(const at::Tensor& x, const at::Tensor& weights, const SortedRows& rows);

}  // namespace roll
