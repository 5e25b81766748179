// Makes a communicator that uses NCCL for CUDA tensors; bytes, CPU tensors and the start go over a host communicator.
#pragma once

#include <memory>
#include <string>

#include "dist/communicator.h"

namespace roll {

/// Makes the communicator of the ranks of `host`; `device` is this rank's GPU, `timeout_s` the longest wait for other
/// ranks. **Collective** over `host`. Throws SystemError if roll was built without NCCL, or if NCCL cannot start.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> host, at::Device device,
                                                     double timeout_s);

/// Returns "2.27.7", "not loaded, ..." (device/cuda_library.h), or "none" in a build without CUDA.
std::string nccl_version();
/// Returns the CUDA runtime's version, "13.0", or "none".
std::string cuda_version();

}  // namespace roll
