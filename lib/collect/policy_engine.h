// Inference engine with the trainer's current weights, for RolloutManager. It is open while responses are sampled, and
// closed before anything else uses the devices.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "rollout/engine.h"
#include "settings/sampling_plan.h"
#include "step/offload.h"
#include "step/roles.h"
#include "text/tokenizer.h"

namespace roll {

class PolicyEngine {
 public:
  /// `validations`: for each validation sampled at once, its number of prompts and of samples per prompt. `offload`:
  /// null if nothing is trained. All references must outlive the engine.
  PolicyEngine(const SamplingPlan& plan, const std::vector<std::pair<int64_t, int64_t>>& validations,
               const Tokenizer& tokenizer, Roles& roles, const RoleMeshes& meshes, Offload* offload, Traffic& traffic);

  /// Updates the sampler's copy of the weights, if it has one, and creates the engine. **Collective** over the world if
  /// trainer and sampler use different ranks.
  void open();
  /// Destroys the engine and brings offloaded tensors back to the device.
  void close();
  /// Returns the engine; null if it is closed or this rank has no sampler.
  Engine* get() { return engine_ ? &*engine_ : nullptr; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  RoleMesh& ranks() const { return meshes_.sampler; }

 private:
  const Tokenizer& tokenizer_;
  Roles& roles_;
  const RoleMeshes& meshes_;
  Offload* offload_;
  Traffic& traffic_;
  EngineLimits limits_;  // for this rank
  CacheSettings cache_;
  std::optional<Engine> engine_;
  bool is_open_ = false;
};

}  // namespace roll
