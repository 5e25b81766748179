// Differentiable collectives. Rows (dimension 0) are tokens; a group of one returns its argument. Backward depends on
// the ops that follow: if each rank goes on with its part of the work, gradients are summed over ranks; if all ranks do
// the same work, each rank's gradient is complete.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "dist/communicator.h"

namespace roll {

/// Concatenates the ranks' rows: [n, ...] -> [size * n, ...]; the ranks then do different parts of the work. Backward
/// is sum_scatter_rows. **Collective**, forward and backward.
at::Tensor gather_rows(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Sums [size * n, ...] over ranks and returns this rank's [n, ...]. Backward is gather_rows. **Collective**.
at::Tensor sum_scatter_rows(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Concatenates the ranks' rows: [n, ...] -> [size * n, ...]; all ranks then do the same work. Backward takes this
/// rank's rows and sends nothing. **Collective** forward.
at::Tensor gather_results(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Sums x over ranks, which then do different parts of the work. Backward sums too. **Collective**, forward and
/// backward.
at::Tensor sum_over_ranks(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Sends the first send[0] rows to rank 0, the next send[1] to rank 1 and so on. Returns receive[r] rows from each rank
/// r, in rank order. Backward sends gradients the other way. **Collective**, forward and backward.
at::Tensor exchange_rows(const at::Tensor& x, const std::vector<int64_t>& send, const std::vector<int64_t>& receive,
                         Communicator& ranks, std::string_view name);

/// Like exchange_rows(), and runs `work` during the exchange; `work` must not use these ranks. Its backward overlaps
/// with the exchange's backward.
at::Tensor exchange_rows_beside(const at::Tensor& x, const std::vector<int64_t>& send,
                                const std::vector<int64_t>& receive, Communicator& ranks, std::string_view name,
                                const std::function<void()>& work);

/// Returns x. Collectives of `ranks` after this call count `times` times. In backward, those of ops before it count
/// `times_in_backward` times.
at::Tensor count_times(const at::Tensor& x, Communicator& ranks, int64_t times, int64_t times_in_backward);

}  // namespace roll
