// The sampler's engine over the trainer's weights as they are: open while something is sampled, closed before anything
// else happens on the devices.
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
  /// `validations`: prompts and samples of each that are sampled at once. `offload`: null where nothing is trained. All
  /// references must outlive it.
  PolicyEngine(const SamplingPlan& plan, const std::vector<std::pair<int64_t, int64_t>>& validations,
               const Tokenizer& tokenizer, Roles& roles, const RoleMeshes& meshes, Offload* offload, Traffic& traffic);

  /// Brings the trainer's weights to where the sampler has copies. **Collective** over the world, where trainer and
  /// sampler are apart.
  void open();
  void close();
  /// Null: closed, or the sampler does not live here.
  Engine* get() { return engine_ ? &*engine_ : nullptr; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  RoleMesh& ranks() const { return meshes_.sampler; }

 private:
  const Tokenizer& tokenizer_;
  Roles& roles_;
  const RoleMeshes& meshes_;
  Offload* offload_;
  Traffic& traffic_;
  EngineLimits limits_;  // of this rank
  CacheSettings cache_;
  std::optional<Engine> engine_;
  bool is_open_ = false;
};

}  // namespace roll
