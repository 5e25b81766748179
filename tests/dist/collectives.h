// What every communicator must do, whatever moves its bytes: each check gives "" or what is wrong on this rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "dist/communicator.h"

namespace roll::test {

/// All dtypes and sizes (empty, one element, the borders of the small and sliced paths, not divisible by the ranks),
/// views that are not contiguous, scalars, broadcast from the last rank, gathers of tensors and of uneven bytes, rows
/// gathered and scattered, collectives that run beside those of another group. Makes a group: all ranks call it.
std::string check_collectives(Communicator& ranks, at::Device device);

/// Sums that depend on the order of adding: those of rank order to the bit, whether small, sliced or scattered.
std::string check_sum_order(Communicator& ranks);

}  // namespace roll::test
