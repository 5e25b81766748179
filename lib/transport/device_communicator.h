// Collectives on a device's tensors through a c10d back-end, such as NCCL. Bytes, host tensors and agreements among
// ranks go over a host communicator.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <memory>

#include "dist/communicator.h"

namespace roll {

/// Creates the back-end for the ranks of `host`. **Collective** over `host`.
using StartBackend = std::function<c10::intrusive_ptr<c10d::Backend>(Communicator& host)>;

/// **Collective** over `host`. Each group that is split off gets its own back-end. kind() is the back-end's name.
/// SystemError with rank, step, collective and group: the back-end throws a c10::Error.
std::unique_ptr<Communicator> make_device_communicator(std::unique_ptr<Communicator> host, at::Device device,
                                                       StartBackend start_backend);

}  // namespace roll
