// Products of rows that are sorted by group with a weight of each group: a product over each group's own rows, none of
// which is padding.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// x [T, K], of which the first counts[0] rows are multiplied with weights[0] [N, K], the next counts[1] with
/// weights[1] and so on -> [T, N]. Gradients of weights are kept as accumulating_linear() keeps them; a weight without
/// rows has none.
at::Tensor grouped_linear(const at::Tensor& x, const std::vector<int64_t>& counts,
                          const std::vector<at::Tensor>& weights);

}  // namespace roll
