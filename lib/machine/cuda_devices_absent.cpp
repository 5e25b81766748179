// The twin of cuda_devices.cpp where CUDA is not built.
#include "machine/cuda_devices.h"

namespace roll {

CudaDevices cuda_devices() {
  return {.driver = "not asked: this program was built without CUDA", .problem = {}, .devices = {}};
}

}  // namespace roll
