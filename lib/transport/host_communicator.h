// All collectives over a Wire, through host memory. In each the ranks first compare their heads, which say what every
// one is about to do: ranks that diverged become an error instead of a wrong sum or a hang.
// Sums: each rank owns a slice, adds what all ranks sent for it in rank order, and hands it round (the traffic of a
// ring). Small tensors go to everyone at once, or in groups of more than kFewRanks to the first rank, which adds and
// sends back the sum; the order is the same. Either way all ranks hold the same bits.
#pragma once

#include <memory>

#include "dist/communicator.h"
#include "transport/wire.h"

namespace roll {

/// `timeout_s`: longest wait in one collective.
std::unique_ptr<Communicator> make_host_communicator(std::unique_ptr<Wire> wire, double timeout_s);

}  // namespace roll
