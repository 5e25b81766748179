#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

#include "ops/device_graph.h"

namespace roll {

namespace {

class CudaGraph : public DeviceGraph {
 public:
  CudaGraph(at::Device device, const std::function<void()>& work) {
    // The default stream cannot be recorded.
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool(false, device.index()));
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      graph_.capture_end();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<DeviceGraph> record_graph(at::Device device, const std::function<void()>& work) {
  return std::make_unique<CudaGraph>(device, work);
}

}  // namespace roll
