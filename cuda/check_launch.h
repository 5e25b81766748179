// Error check after a kernel launch, for CUDA sources (.cu).
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace roll::cuda {

/// Throws std::runtime_error("<kernel>: <CUDA's text>") if the launch just made by this thread failed. Does not wait
/// for the kernel, so errors while it runs show later.
inline void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(error));
}

}  // namespace roll::cuda
