// Replaces launch_kernel.cu in builds without CUDA.
#include "cuda/launch_kernel.h"

#include "base/error.h"

namespace roll::cuda {

void launch_kernel(const AnyKernelOf<float>&, void*) {
  throw SystemError("launch_kernel: this program was built without CUDA");
}

void launch_kernel(const AnyKernelOf<Bf16>&, void*) {
  throw SystemError("launch_kernel: this program was built without CUDA");
}

void launch_kernel(const AnyKernelOf<Fp16>&, void*) {
  throw SystemError("launch_kernel: this program was built without CUDA");
}

int count_processors() {
  throw SystemError("count_processors: this program was built without CUDA");
}

}  // namespace roll::cuda
