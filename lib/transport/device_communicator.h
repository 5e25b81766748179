// Collectives of a device's tensors by one of c10d's back-ends, as NCCL's is. Bytes, tensors of the host and what ranks
// have to agree on go over a host communicator.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <memory>

#include "dist/communicator.h"

namespace roll {

/// **Collective** over `host`: a back-end for its ranks.
using StartBackend = std::function<c10::intrusive_ptr<c10d::Backend>(Communicator& host)>;

/// **Collective** over `host`. Each group that is split off has a back-end of its own. Its kind is the back-end's name.
/// What goes wrong in a back-end, as a c10::Error, becomes a SystemError with rank, step, collective and group.
std::unique_ptr<Communicator> make_device_communicator(std::unique_ptr<Communicator> host, at::Device device,
                                                       StartBackend start_backend);

}  // namespace roll
