// Error check after a kernel launch.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace roll::cuda {

/// Throws std::runtime_error if the launch just made failed. kernel: prefix of the message.
inline void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(error));
}

}  // namespace roll::cuda
