// Frozen weights that are kept in host memory and copied to the device when needed; used for references with the key
// offload (roles.h).
#pragma once

#include <memory>

#include "checkpoint/safetensors.h"
#include "device/host_copy.h"

namespace roll {

class OffloadedWeights {
 public:
  /// Copies `parameters` (not empty, of one dtype and device) to host memory and frees their device memory. The tensor
  /// objects stay valid, with their shapes; they hold NaN except while bring_to_device() keeps the weights there.
  explicit OffloadedWeights(NamedTensors parameters);

  /// Copies the weights to their device, where they stay until the returned object is destroyed, which this object must
  /// outlive. The host does not wait for the copy. Not to be called again before that.
  std::shared_ptr<void> bring_to_device();

 private:
  void free_device_copy();

  NamedTensors parameters_;
  at::TensorOptions options_;
  int64_t total_ = 0;  // elements
  HostCopy host_copy_;
};

}  // namespace roll
