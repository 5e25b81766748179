// Where c10d's back-ends find each other.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/communicator.h"

namespace roll {

/// **Collective** over `host`. A store of c10d's for these ranks, which the first one serves on a free port of all its
/// addresses, and is the first client of. The others reach it at the loopback when all share a host, for then no name
/// needs to resolve. c10::Error: it cannot be reached in time.
c10::intrusive_ptr<c10d::Store> open_group_store(Communicator& host, double timeout_s);

}  // namespace roll
