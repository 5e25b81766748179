// Opens the c10d store, PyTorch's key-value server, through which the ranks' NCCL back-ends find each other. Used by
// nccl_communicator.cpp.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/communicator.h"

namespace roll {

/// Returns a store for the ranks of `host`. The first rank serves it on a free port of all its addresses. If all ranks
/// are on one host, they use the loopback, so that no name needs to resolve. `timeout_s`: longest wait for the server.
/// **Collective** over `host`. Throws c10::Error if the store cannot be reached in time.
c10::intrusive_ptr<c10d::Store> open_group_store(Communicator& host, double timeout_s);

}  // namespace roll
