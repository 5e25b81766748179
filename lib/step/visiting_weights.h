// Frozen weights that wait in host memory and visit the device when they are wanted.
#pragma once

#include <memory>

#include "checkpoint/safetensors.h"

namespace roll {

class VisitingWeights {
 public:
  /// Moves `parameters`, of one dtype and device, to the host, where a GPU's copies run at the full speed of the bus;
  /// the tensors stay the same objects.
  explicit VisitingWeights(NamedTensors parameters);

  /// They are on their device while the result lives. This must outlive it.
  std::shared_ptr<void> visit();

 private:
  void bind(const at::Tensor& flat);

  NamedTensors parameters_;
  at::Device device_;
  at::Tensor home_;  // all of them, one behind the other: page-locked memory comes in powers of two
};

}  // namespace roll
