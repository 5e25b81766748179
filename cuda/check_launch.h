// What a launch says at once.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace roll::cuda {

inline void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(error));
}

}  // namespace roll::cuda
