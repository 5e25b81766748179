// Collectives that carry gradients. Rows (dimension 0) are tokens. A group of one gives its argument back.
// Two kinds of what comes after them: where each rank goes on with a part of the work, gradients of the parts are
// added; where every rank goes on with the same work on the same numbers, each rank's gradient is already whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "dist/communicator.h"

namespace roll {

/// [n, ...] of each rank -> [size * n, ...], with which the ranks do different parts of the work. Backward is
/// sum_scatter_rows. **Collective**, forward and backward.
at::Tensor gather_rows(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Partial sums [size * n, ...] -> this rank's [n, ...] of their sum. Backward is gather_rows. **Collective**.
at::Tensor sum_scatter_rows(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// [n, ...] of each rank -> [size * n, ...], with which all ranks do the same work. Backward takes this rank's rows and
/// sends nothing. **Collective** forward.
at::Tensor gather_results(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Numbers of each rank -> their sum, with which the ranks do different parts of the work. Backward adds up too.
/// **Collective**, forward and backward.
at::Tensor sum_over_ranks(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Rows go to other ranks: the first send[0] to rank 0, the next send[1] to rank 1 and so on; what comes, receive[r]
/// rows from each rank r, stands in the order of the ranks. Backward sends gradients the other way. **Collective**,
/// forward and backward.
at::Tensor exchange_rows(const at::Tensor& x, const std::vector<int64_t>& send, const std::vector<int64_t>& receive,
                         Communicator& ranks, std::string_view name);

/// The same, and `work` beside it, which must not use these ranks; what is computed there has its backward beside that
/// of the exchange.
at::Tensor exchange_rows_beside(const at::Tensor& x, const std::vector<int64_t>& send,
                                const std::vector<int64_t>& receive, Communicator& ranks, std::string_view name,
                                const std::function<void()>& work);

/// x. What `ranks` do between two of these counts `times` times, forward, and `times_in_backward` times on the way back
/// from the second one to the first.
at::Tensor count_times(const at::Tensor& x, Communicator& ranks, int64_t times, int64_t times_in_backward);

}  // namespace roll
