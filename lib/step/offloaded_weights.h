// Keeps frozen weights in host memory and copies them to the device for as long as a forward needs them. Used for
// reference and teacher models with the key offload (Role::offloaded in roles.h).
#pragma once

#include <memory>

#include "checkpoint/safetensors.h"
#include "device/host_copy.h"

namespace roll {

/// The frozen weights of one model on one rank.
class OffloadedWeights {
 public:
  /// Copies `parameters` (not empty, of one dtype and device) to host memory and frees their device memory. The tensor
  /// objects stay valid, with their shapes; they hold NaN except while bring_to_device() keeps the weights there.
  explicit OffloadedWeights(NamedTensors parameters);

  /// Copies the weights to their device, where they stay until the returned object is destroyed. This object must
  /// outlive the returned one. The host does not wait for the copy. Call it again only after the returned object is
  /// destroyed.
  std::shared_ptr<void> bring_to_device();

 private:
  void free_device_copy();

  NamedTensors parameters_;
  at::TensorOptions options_;
  int64_t total_ = 0;  // elements of all parameters
  HostCopy host_copy_;
};

}  // namespace roll
