// CUDA graphs: a sequence of kernels that is recorded once and replayed with one launch. GraphCache (graph_cache.h)
// uses them for decode steps, whose kernels take less time than their launches from the host.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace roll {

/// A recorded sequence of kernels. It may outlive its recorder.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Launches the recorded kernels in the current stream, without waiting for them. They read and write the same memory
  /// as when they were recorded.
  virtual void replay() = 0;
};

/// Makes graphs for one device.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// Calls `work` and returns the kernels that it launches as a graph, without running them. `work` must have run once
  /// before (so that libraries are initialized), must use the same memory each time, and must not keep tensors that it
  /// allocates. Rethrows exceptions of `work`.
  virtual std::unique_ptr<DeviceGraph> record(const std::function<void()>& work) = 0;
};

/// GPU memory that recorders take besides their graphs' tensors, in bytes: cuBLAS's workspace for another stream.
constexpr int64_t kRecorderBytes = int64_t{32} << 20;

/// Returns a recorder for a CUDA `device`. Its graphs share one memory pool, so they must run one after the other.
/// Throws SystemError in a build without CUDA.
std::unique_ptr<GraphRecorder> make_graph_recorder(at::Device device);

}  // namespace roll
