// Makes a communicator that uses NCCL for CUDA tensors. Bytes, CPU tensors and NCCL's start go over a host
// communicator. A build without CUDA has the functions of nccl_absent.cpp instead.
#pragma once

#include <memory>
#include <string>

#include "dist/communicator.h"

namespace roll {

/// Makes the communicator of the ranks of `host`. `device`: this rank's GPU. `timeout_s`: longest wait for other ranks
/// in a collective. Throws SystemError if roll was built without NCCL, or if NCCL cannot start. **Collective** over
/// `host`.
std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> host, at::Device device,
                                                     double timeout_s);

/// Returns NCCL's version, such as "2.27.7"; "not loaded, ..." (device/cuda_library.h); or "none" in a build without
/// CUDA.
std::string nccl_version();
/// Returns the CUDA runtime's version, such as "13.0"; "none" in a build without CUDA.
std::string cuda_version();

}  // namespace roll
