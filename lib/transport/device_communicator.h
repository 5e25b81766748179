// A communicator that runs collectives of a device's tensors through a c10d back-end of PyTorch, such as NCCL, and all
// others (bytes, host tensors) over a host communicator.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <memory>

#include "dist/communicator.h"

namespace roll {

/// Makes a back-end for the ranks of `host`. **Collective** over `host`.
using StartBackend = std::function<c10::intrusive_ptr<c10d::Backend>(Communicator& host)>;

/// Makes a communicator for the ranks of `host` and tensors on `device`. **Collective** over `host`. Calls
/// `start_backend` now, and for each communicator that is split off. kind() is the back-end's name. Collectives throw
/// SystemError with rank, step, collective and group if the back-end throws a c10::Error.
std::unique_ptr<Communicator> make_device_communicator(std::unique_ptr<Communicator> host, at::Device device,
                                                       StartBackend start_backend);

}  // namespace roll
