// `offload: true`: keeps training-only data in host memory while a GPU samples.
#pragma once

#include "step/step_trainer.h"

namespace roll {

class Offload {
 public:
  /// `trainer` must outlive this.
  Offload(bool is_on, StepTrainer& trainer) : is_on_(is_on), trainer_(trainer) {}

  /// Moves optimizer states and the critic to the host. The actor's weights stay, because the sampler reads them; the
  /// reference is on the device only during its forward (step/visiting_weights.h).
  void put_away();
  /// Moves everything back to the device before training.
  void bring_back();

 private:
  bool is_on_;
  StepTrainer& trainer_;
};

}  // namespace roll
