// Creates and destroys the inference engine with the trainer's current weights, for RolloutManager. The engine exists
// while responses are sampled, and is closed before anything else uses the devices. Every rank has this object; only
// the sampler's ranks get an engine.
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
  /// `validations`: pairs (prompts sampled at once, responses per prompt), one for each validation set; with the plan
  /// they give the number of slots (running responses). `offload`: moves the trainer's tensors off the device while the
  /// engine is open; null if nothing is trained. `traffic`: counts the bytes of weight transfers. All but `plan` and
  /// `validations` must outlive this object.
  PolicyEngine(const SamplingPlan& plan, const std::vector<std::pair<int64_t, int64_t>>& validations,
               const Tokenizer& tokenizer, Roles& roles, const RoleMeshes& meshes, Offload* offload, Traffic& traffic);

  /// Creates the engine, after copying the trainer's weights to the sampler if they do not share tensors. Does nothing
  /// if it is open. **Collective** over the world if trainer and sampler use different ranks.
  void open();
  /// Destroys the engine and brings offloaded tensors back to the device. Does nothing if it is closed.
  void close();
  /// Returns the engine; null if it is closed or this rank has no sampler.
  Engine* get() { return engine_ ? &*engine_ : nullptr; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Returns the sampler's ranks.
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
