// Replaces cuda_address.cpp in builds without CUDA.
#include "base/error.h"
#include "device/cuda_address.h"

namespace roll {

CudaAddress cuda_address(int) {
  throw SystemError("cuda_address: this program was built without CUDA");
}

}  // namespace roll
