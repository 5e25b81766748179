// Says which physical GPU a device of this process is. An index cannot: ranks that see one GPU each (Slurm's
// --gpus-per-task, Kubernetes) all call theirs 0.
#pragma once

#include <string>

namespace roll {

struct CudaAddress {
  std::string uuid;  // of the GPU, or of its part (MIG); the same in all processes and containers
  std::string bus;   // PCI address on its host, "0000:1b:00": parts of one GPU have the same
};

/// Returns the address of CUDA device `index`. Throws SystemError if there is none.
CudaAddress cuda_address(int index);

}  // namespace roll
