// Frozen weights in host memory, copied to the device when needed; used for references with `offload: true`.
#pragma once

#include <memory>

#include "checkpoint/safetensors.h"
#include "device/host_copy.h"

namespace roll {

class VisitingWeights {
 public:
  /// Moves `parameters` (one dtype and device) to the host. The tensor objects stay the same and hold NaN until a
  /// visit.
  explicit VisitingWeights(NamedTensors parameters);

  /// Copies the weights to their device while the result lives; this object must outlive it. The host does not wait.
  std::shared_ptr<void> visit();

 private:
  void leave();

  NamedTensors parameters_;
  at::TensorOptions options_;
  int64_t total_ = 0;  // elements
  HostCopy home_;
};

}  // namespace roll
