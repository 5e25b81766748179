// Makes a communicator (dist/communicator.h) that runs collectives of a device's tensors through a c10d back-end of
// PyTorch, such as NCCL. All others (bytes, host tensors) run over a host communicator. Used by nccl_communicator.h and
// tests.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <memory>

#include "dist/communicator.h"

namespace roll {

/// Returns a new back-end for the ranks of `host`. **Collective** over `host`.
using StartBackend = std::function<c10::intrusive_ptr<c10d::Backend>(Communicator& host)>;

/// Makes a communicator for the ranks of `host` and tensors on `device`. Calls `start_backend` now, and in each
/// split(), and sums one number at once, so that the back-end takes its memory. kind() is the back-end's name.
/// Collectives throw SystemError with rank, step, collective and group if the back-end throws a c10::Error.
/// **Collective** over `host`.
std::unique_ptr<Communicator> make_device_communicator(std::unique_ptr<Communicator> host, at::Device device,
                                                       StartBackend start_backend);

}  // namespace roll
