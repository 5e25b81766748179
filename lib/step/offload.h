// `offload: true`: while a GPU samples, what only training needs lies in host memory.
#pragma once

#include "step/step_trainer.h"

namespace roll {

class Offload {
 public:
  /// `trainer` must outlive this.
  Offload(bool is_on, StepTrainer& trainer) : is_on_(is_on), trainer_(trainer) {}

  /// Leaves the device to the sampler: optimizer states and the critic go. The actor's weights stay, which the sampler
  /// reads; the reference is there for its forward only (step/visiting_weights.h).
  void put_away();
  void bring_back();

 private:
  bool is_on_;
  StepTrainer& trainer_;
};

}  // namespace roll
