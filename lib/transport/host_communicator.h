// Makes a communicator (dist/communicator.h) that runs all collectives over a Wire (wire.h), through host memory. Ranks
// first compare headers of their calls (head.h). In an all-reduce, each rank reduces one slice of the tensor, in rank
// order, and sends the result to all (the traffic of a ring). Small tensors instead go to every rank at once, and each
// rank reduces them; in groups of more than kFewRanks, the first rank reduces them and sends the result. The order is
// always the same, so all ranks get the same bits.
#pragma once

#include <memory>

#include "dist/communicator.h"
#include "transport/wire.h"

namespace roll {

/// Makes the communicator of the wire's ranks, which must be all ranks of the job. `timeout_s`: longest wait for other
/// ranks in one collective, which then throws SystemError. No communication.
std::unique_ptr<Communicator> make_host_communicator(std::unique_ptr<Wire> wire, double timeout_s);

}  // namespace roll
