#include "cuda/launch_kernel.h"

#include "cuda/check_launch.h"
#include "cuda/device_block.cuh"

namespace roll::cuda {

namespace {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kLanes) run_kernel(Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  kernel.run(DeviceBlock<Kernel::kLanes>(), shared, blockIdx.x);
}

struct Launch {
  void* stream;

  void operator()(const SampleRows& rows) const { sample_rows(rows, stream); }

  template <class Kernel>
  void operator()(const Kernel& kernel) const {
    if (kernel.num_blocks() == 0) return;
    run_kernel<<<static_cast<unsigned>(kernel.num_blocks()), Kernel::kLanes, 0, static_cast<cudaStream_t>(stream)>>>(
        kernel);
    check_launch("decoding");
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
