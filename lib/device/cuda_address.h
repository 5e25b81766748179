// Says which physical GPU a device of this process is. An index cannot: ranks that see one GPU each (Slurm's
// --gpus-per-task, Kubernetes) all call theirs 0.
#pragma once

#include <string>

namespace roll {

struct CudaAddress {
  std::string uuid;  // hexadecimal; equal in all processes and containers; with MIG, each part of a GPU has one
  std::string bus;   // PCI address on its host, "0000:1b:00"; equal for all parts of a GPU
};

/// Returns the address of CUDA device `index`. Throws SystemError if there is none.
CudaAddress cuda_address(int index);

}  // namespace roll
