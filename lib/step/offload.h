// Implements the key offload: while a GPU samples, data that only training needs is in host memory. Used by
// collect/policy_engine.h.
#pragma once

#include "step/step_trainer.h"

namespace roll {

/// Moves training data between the device and host memory, on each rank that trains.
class Offload {
 public:
  /// is_on: value of the key; if false, both functions do nothing. `trainer` must outlive this object.
  Offload(bool is_on, StepTrainer& trainer) : is_on_(is_on), trainer_(trainer) {}

  /// Moves this rank's optimizer states and critic to the host, before sampling. The policy's weights stay, because the
  /// sampler reads them. A reference is on the device only during its forward anyway (offloaded_weights.h).
  void put_away();
  /// Moves the same data back to the device, before training.
  void bring_back();

 private:
  bool is_on_;
  StepTrainer& trainer_;
};

}  // namespace roll
