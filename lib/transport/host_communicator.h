// Implements all collectives over a Wire, through host memory. Ranks first compare their heads, so that diverged ranks
// cause an error instead of a wrong sum or a hang. Sums: each rank owns a slice, adds all ranks' parts in rank order,
// and sends the sum to all (the traffic of a ring). Small tensors go to everyone at once; in groups of more than
// kFewRanks, the first rank adds them and returns the sum. The order is the same, so all ranks get the same bits.
#pragma once

#include <memory>

#include "dist/communicator.h"
#include "transport/wire.h"

namespace roll {

/// Creates the communicator. `timeout_s`: longest wait in one collective.
std::unique_ptr<Communicator> make_host_communicator(std::unique_ptr<Wire> wire, double timeout_s);

}  // namespace roll
