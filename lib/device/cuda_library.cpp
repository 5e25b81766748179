// The binaries are linked with the CUDA library, whose dependency entry is then removed (link_cuda_late,
// CMakeLists.txt). Its symbols are resolved at the first call, after load_cuda_library().
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
    throw system_error("this machine has an NVIDIA driver, but LibTorch's CUDA libraries cannot be loaded: {}",
                       ::dlerror());
}

bool cuda_library_is_loaded() {
  return is_loaded;
}

}  // namespace roll
