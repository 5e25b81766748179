// CUDA graphs: GPU work that is recorded once and replayed with one launch. Launching a decode step kernel by kernel
// would cost the host more time than the step itself.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace roll {

class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Launches the recorded work in the current stream.
  virtual void replay() = 0;
};

class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// Records the launches of `work` without running them. `work` must have run once before, must allocate nothing that
  /// outlives it, and must use the same memory each time. Rethrows exceptions of `work`.
  virtual std::unique_ptr<DeviceGraph> record(const std::function<void()>& work) = 0;
};

/// Upper bound of the GPU memory of a recorder, in bytes: cuBLAS's workspace of another stream.
constexpr int64_t kRecorderBytes = int64_t{32} << 20;

/// Returns a recorder for `device`. Its graphs share one memory pool, so only one graph may run at a time.
/// SystemError: built without CUDA.
std::unique_ptr<GraphRecorder> make_graph_recorder(at::Device device);

}  // namespace roll
