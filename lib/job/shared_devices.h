// Finds out whether ranks share GPUs, as in tests on one GPU. NCCL refuses that.
#pragma once

#include <string>

#include "device/cuda_address.h"
#include "dist/communicator.h"

namespace roll {

/// Returns true if two ranks of `ranks` have the same GPU, or parts of one GPU. `host_name`, `own`: this rank's.
/// **Collective**.
bool share_devices(Communicator& ranks, const std::string& host_name, const CudaAddress& own);

}  // namespace roll
