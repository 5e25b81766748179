// `offload: true`: while a GPU samples, what only training needs lies in host memory.
#pragma once

#include "settings/config.h"
#include "step/ppo.h"
#include "step/roles.h"

namespace roll {

class Offload {
 public:
  /// Does nothing unless the key is set and `device` is a GPU. All outlive this.
  Offload(const Config& config, at::Device device, std::optional<ActorTrainer>& actor,
          std::optional<CriticTrainer>& critic, Roles& roles)
      : is_on_(config.offload && device.is_cuda()), device_(device), actor_(actor), critic_(critic), roles_(roles) {}

  /// Leaves the device to the sampler: optimizer states, the critic and the reference go.
  void put_away();
  void bring_back();

 private:
  bool is_on_;
  at::Device device_;
  std::optional<ActorTrainer>& actor_;
  std::optional<CriticTrainer>& critic_;
  Roles& roles_;
};

}  // namespace roll
