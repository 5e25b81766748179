// Work of a GPU that is recorded once and then started as one: the launches of a step cost the host more than the step.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace roll {

class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// The recorded work, in the current stream.
  virtual void replay() = 0;
};

class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// Records what `work` launches, without running it. It must have run once before, allocate nothing that outlives it
  /// and read and write the same memory each time. Throws what `work` throws.
  virtual std::unique_ptr<DeviceGraph> record(const std::function<void()>& work) = 0;
};

/// What a recorder takes of a GPU, at most: cuBLAS's memory of another stream.
constexpr int64_t kRecorderBytes = int64_t{32} << 20;

/// Its graphs share memory for what work allocates: no two of them may be under way at once. Without CUDA it throws
/// SystemError.
std::unique_ptr<GraphRecorder> make_graph_recorder(at::Device device);

}  // namespace roll
