#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

#include <array>
#include <exception>
#include <mutex>
#include <optional>

#include "device/device_graph.h"

namespace roll {

namespace {

/// The default stream cannot be recorded. One of each device for the life of the process: cuBLAS keeps 32 MiB for every
/// stream that it has seen.
c10::cuda::CUDAStream capture_stream(c10::DeviceIndex device) {
  static std::mutex mutex;
  static std::array<std::optional<c10::cuda::CUDAStream>, C10_COMPILE_TIME_MAX_GPUS> streams;
  const std::lock_guard lock(mutex);
  auto& stream = streams.at(static_cast<size_t>(device));
  if (!stream) stream = c10::cuda::getStreamFromPool(false, device);
  return *stream;
}

class CudaGraph : public DeviceGraph {
 public:
  void record(const std::function<void()>& work, at::cuda::MempoolId_t pool) {
    graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      graph_.capture_end();
    } catch (...) {  // it complains of what was broken off, too
      if (!failure) throw;
    }
    if (failure) std::rethrow_exception(failure);
  }

  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

class CudaGraphRecorder : public GraphRecorder {
 public:
  explicit CudaGraphRecorder(c10::DeviceIndex device)
      : stream_(capture_stream(device)), pool_(at::cuda::graph_pool_handle()) {}

  std::unique_ptr<DeviceGraph> record(const std::function<void()>& work) override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    at::cuda::getCurrentCUDABlasHandle();  // takes its memory now, and not out of the graphs'
    auto graph = std::make_unique<CudaGraph>();
    try {
      graph->record(work, pool_);
    } catch (...) {
      pool_ = at::cuda::graph_pool_handle();  // into the old one LibTorch may still believe to record
      throw;
    }
    return graph;
  }

 private:
  c10::cuda::CUDAStream stream_;
  at::cuda::MempoolId_t pool_;
};

}  // namespace

std::unique_ptr<GraphRecorder> make_graph_recorder(at::Device device) {
  return std::make_unique<CudaGraphRecorder>(device.has_index() ? device.index() : c10::cuda::current_device());
}

}  // namespace roll
