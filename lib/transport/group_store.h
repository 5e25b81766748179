// Opens the store through which c10d's back-ends find each other.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/communicator.h"

namespace roll {

/// Opens a c10d store for the ranks of `host`. The first rank serves it on a free port of all its addresses. If all
/// ranks share a host, they use the loopback, so that no name needs to resolve. **Collective** over `host`. c10::Error:
/// the store cannot be reached in time.
c10::intrusive_ptr<c10d::Store> open_group_store(Communicator& host, double timeout_s);

}  // namespace roll
