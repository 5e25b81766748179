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

int compute_capability() {
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  check_launch("compute_capability");
  return 10 * major + minor;
}

}  // namespace roll::cuda
