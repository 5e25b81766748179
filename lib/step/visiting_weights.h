// Frozen weights that wait in host memory and visit the device when they are wanted.
#pragma once

#include <memory>

#include "checkpoint/safetensors.h"
#include "device/host_copy.h"

namespace roll {

class VisitingWeights {
 public:
  /// Moves `parameters`, of one dtype and device, to the host; the tensors stay the same objects, of NaN until a visit.
  explicit VisitingWeights(NamedTensors parameters);

  /// They are on their device while the result lives. This must outlive it. The host does not wait for the copies.
  std::shared_ptr<void> visit();

 private:
  void leave();

  NamedTensors parameters_;
  at::TensorOptions options_;
  int64_t total_ = 0;  // numbers
  HostCopy home_;
};

}  // namespace roll
