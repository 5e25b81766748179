// The twin of cuda_library.cpp where CUDA is not built.
#include "device/cuda_library.h"

namespace roll {

void load_cuda_library() {}

bool cuda_library_is_loaded() {
  return false;
}

}  // namespace roll
