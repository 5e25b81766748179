// Replaces launch_layer_kernel.cu in builds without CUDA.
#include "base/error.h"
#include "cuda/launch_layer_kernel.h"

namespace roll::cuda {

void launch_layer_kernel(const LayerKernelOf<float>&, void*) {
  throw SystemError("launch_layer_kernel: this program was built without CUDA");
}

void launch_layer_kernel(const LayerKernelOf<Bf16>&, void*) {
  throw SystemError("launch_layer_kernel: this program was built without CUDA");
}

int compute_capability() {
  throw SystemError("compute_capability: this program was built without CUDA");
}

}  // namespace roll::cuda
