#include "cuda/launch_layer_kernel.h"

#include "cuda/device_lanes.cuh"

namespace roll::cuda {

namespace {

struct LaunchLayer {
  void* stream;

  template <class Kernel>
  void operator()(const Kernel& kernel) const {
    start_kernel(kernel, stream, "a layer");
  }
};

}  // namespace

void launch_layer_kernel(const LayerKernelOf<float>& kernel, void* stream) {
  std::visit(LaunchLayer{stream}, kernel);
}

void launch_layer_kernel(const LayerKernelOf<Bf16>& kernel, void* stream) {
  std::visit(LaunchLayer{stream}, kernel);
}

}  // namespace roll::cuda
