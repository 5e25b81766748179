// `offload: true`: while a GPU samples, what only training needs lies in host memory.
#pragma once

#include "step/step_trainer.h"

namespace roll {

class Offload {
 public:
  /// Does nothing unless it is wanted and `device` is a GPU. References must outlive this.
  Offload(bool is_wanted, at::Device device, StepTrainer& trainer, Roles& roles)
      : is_on_(is_wanted && device.is_cuda()), device_(device), trainer_(trainer), roles_(roles) {}

  /// Leaves the device to the sampler: optimizer states, the critic and the reference go. The actor's weights stay,
  /// which the sampler reads.
  void put_away();
  void bring_back();

 private:
  bool is_on_;
  at::Device device_;
  StepTrainer& trainer_;
  Roles& roles_;
};

}  // namespace roll
