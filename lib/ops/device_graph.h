// Work of a GPU that is recorded once and then started as one: the launches of a step cost the host more than the step.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>

namespace roll {

class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// The recorded work, in the current stream.
  virtual void replay() = 0;
};

/// Records what `work` launches, without running it. It must have run once before, allocate nothing that outlives it
/// and read and write the same memory each time. Without CUDA it throws SystemError.
std::unique_ptr<DeviceGraph> record_graph(at::Device device, const std::function<void()>& work);

}  // namespace roll
