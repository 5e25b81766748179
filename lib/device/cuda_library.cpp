// The programs are linked with the library and then cut from it (link_cuda_late, CMakeLists.txt): what they call of it
// is found when it is called first, long after this.
#include "device/cuda_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace roll {

namespace {

bool is_loaded = false;

}  // namespace

void load_cuda_library() {
  if (!::dlopen("libcuda.so.1", RTLD_LAZY)) return;
  is_loaded = ::dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_GLOBAL);
  if (!is_loaded)
    throw system_error("this machine has an NVIDIA driver, and LibTorch's CUDA libraries cannot be loaded: {}",
                       ::dlerror());
}

bool cuda_library_is_loaded() {
  return is_loaded;
}

}  // namespace roll
