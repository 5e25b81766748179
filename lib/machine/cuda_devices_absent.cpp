// Replaces cuda_devices.cpp in builds without CUDA.
#include "machine/cuda_devices.h"

namespace roll {

CudaDevices cuda_devices() {
  return {.driver = "unknown: this program was built without CUDA"};
}

}  // namespace roll
