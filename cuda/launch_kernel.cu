#include "cuda/launch_kernel.h"

#include "cuda/device_lanes.cuh"

namespace roll::cuda {

namespace {

struct Launch {
  void* stream;

  void operator()(const SampleRows& rows) const { sample_rows(rows, stream); }

  template <class Kernel>
  void operator()(const Kernel& kernel) const {
    start_kernel(kernel, stream, "decoding");
  }
};

}  // namespace

void launch_kernel(const AnyKernelOf<float>& kernel, void* stream) {
  std::visit(Launch{stream}, kernel);
}

void launch_kernel(const AnyKernelOf<Bf16>& kernel, void* stream) {
  std::visit(Launch{stream}, kernel);
}

void launch_kernel(const AnyKernelOf<Fp16>& kernel, void* stream) {
  std::visit(Launch{stream}, kernel);
}

int count_processors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  check_launch("count_processors");
  return count;
}

}  // namespace roll::cuda
