#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

#include <array>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "device/device_graph.h"

namespace roll {

namespace {

/// Returns the stream for recording, as the default stream cannot be recorded. There is one per device and process,
/// because cuBLAS keeps 32 MiB for every stream that it has seen.
c10::cuda::CUDAStream capture_stream(c10::DeviceIndex device) {
  static std::mutex mutex;
  static std::array<std::optional<c10::cuda::CUDAStream>, C10_COMPILE_TIME_MAX_GPUS> streams;
  const std::lock_guard lock(mutex);
  auto& stream = streams.at(static_cast<size_t>(device));
  if (!stream) stream = c10::cuda::getStreamFromPool(false, device);
  return *stream;
}

using Pool = std::shared_ptr<const at::cuda::MempoolId_t>;

class CudaGraph : public DeviceGraph {
 public:
  explicit CudaGraph(Pool pool) : pool_(std::move(pool)) {}

  void record(const std::function<void()>& work) {
    graph_.capture_begin(*pool_, cudaStreamCaptureModeThreadLocal);
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      graph_.capture_end();
    } catch (...) {  // a failed `work` makes this throw too
      if (!failure) throw;
    }
    if (failure) std::rethrow_exception(failure);
  }

  void replay() override { graph_.replay(); }

 private:
  Pool pool_;
  at::cuda::CUDAGraph graph_;
};

class CudaGraphRecorder : public GraphRecorder {
 public:
  explicit CudaGraphRecorder(c10::DeviceIndex device) : stream_(capture_stream(device)) {}

  std::unique_ptr<DeviceGraph> record(const std::function<void()>& work) override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    at::cuda::getCurrentCUDABlasHandle();  // allocates its workspace now, not from the graphs' pool
    Pool pool = pool_.lock();
    if (!pool) pool = std::make_shared<at::cuda::MempoolId_t>(at::cuda::graph_pool_handle());
    auto graph = std::make_unique<CudaGraph>(pool);
    pool_.reset();  // after a failed capture, LibTorch may still treat this pool as recording
    graph->record(work);
    pool_ = pool;
    return graph;
  }

 private:
  c10::cuda::CUDAStream stream_;
  std::weak_ptr<const at::cuda::MempoolId_t> pool_;  // pool of the live graphs; LibTorch frees it with the last one
};

}  // namespace

std::unique_ptr<GraphRecorder> make_graph_recorder(at::Device device) {
  return std::make_unique<CudaGraphRecorder>(device.has_index() ? device.index() : c10::cuda::current_device());
}

}  // namespace roll
