// Replaces cuda_library.cpp in builds without CUDA.
#include "device/cuda_library.h"

namespace roll {

void load_cuda_library() {}

bool cuda_library_is_loaded() {
  return false;
}

}  // namespace roll
