// Differentiable collectives for tensor, context and expert parallelism. Rows (dimension 0) are tokens. `size` is the
// number of `ranks`; n must be equal on every rank. `ranks` must outlive the autograd graph. With one rank, the result
// equals x. Backward depends on the ops that follow: if each rank then does a different part of the work, the ranks'
// gradients are summed; if all ranks do the same work, each rank's gradient is complete. `name` identifies the tensor
// in errors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "dist/communicator.h"

namespace roll {

/// Concatenates the ranks' rows: [n, ...] -> [size * n, ...]. For ranks that then do different parts of the work:
/// backward is sum_scatter_rows(). **Collective**, forward and backward.
at::Tensor gather_rows(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Sums x [size * n, ...] over ranks and returns this rank's rows [n, ...] of the sum. Backward is gather_rows().
/// **Collective**, forward and backward.
at::Tensor sum_scatter_rows(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Concatenates the ranks' rows: [n, ...] -> [size * n, ...]. For ranks that then all do the same work: backward takes
/// this rank's rows of the gradient and sends nothing. **Collective**, forward only.
at::Tensor gather_results(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// Returns the sum of x over ranks, for ranks that then do different parts of the work: backward sums the gradient over
/// ranks too. **Collective**, forward and backward.
at::Tensor sum_over_ranks(const at::Tensor& x, Communicator& ranks, std::string_view name);

/// All-to-all of rows: sends the first send[0] rows of x [rows, columns] to rank 0, the next send[1] rows to rank 1 and
/// so on (also to this rank). The sum of `send` must be the number of rows. Returns receive[r] rows from each rank r,
/// in rank order; receive[r] must equal rank r's `send` at this rank's index. Backward sends gradients the other way.
/// **Collective**, forward and backward.
at::Tensor exchange_rows(const at::Tensor& x, const std::vector<int64_t>& send, const std::vector<int64_t>& receive,
                         Communicator& ranks, std::string_view name);

/// Like exchange_rows(), and calls `work` once during the exchange, on this thread; `work` must not communicate over
/// `ranks`. In backward, ops of `work` overlap with the exchange of gradients.
at::Tensor exchange_rows_beside(const at::Tensor& x, const std::vector<int64_t>& send,
                                const std::vector<int64_t>& receive, Communicator& ranks, std::string_view name,
                                const std::function<void()>& work);

/// Returns x. For communicators that only count: calls ranks.count_times(times) now and
/// ranks.count_times(times_in_backward) when backward reaches x, so that one layer's collectives count for several.
at::Tensor count_times(const at::Tensor& x, Communicator& ranks, int64_t times, int64_t times_in_backward);

}  // namespace roll
