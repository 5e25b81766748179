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

}  // namespace roll::cuda
