// Models of a step as StepTrainer sees them: trained tensors, and functions of a micro-batch. Trained models need not
// be transformers: `roll check-loss` trains tables.
#pragma once

#include <functional>
#include <optional>

#include "experience/experience.h"
#include "model/log_probs.h"
#include "model/router_training.h"
#include "optim/learner.h"
#include "step/forward.h"
#include "step/roles.h"

namespace roll {

/// Model results for the tokens of a micro-batch: a policy's log-probs (0 outside response tokens) or a critic's values
/// [T]. Undefined on all pipeline stages but the last.
struct Computed {
  TokenLogProbs policy{};
  at::Tensor values{};

  bool is_here() const { return policy.log_probs.defined() || values.defined(); }
};

/// Model in training.
struct Trained {
  NamedTensors parameters;  // updated in place; must stay the same tensors
  LearnerRanks ranks;
  std::function<Computed(const Experience& micro_batch)> forward;  // with gradient
  std::function<at::Tensor()> empty_pass{};                        // see UpdatePlan
  std::function<void(bool was_made)> after_update{};               // see UpdatePlan
  std::function<void(std::shared_ptr<LayerStore>)> use_store{};    // see Backbone
};

/// Brings weights to the device while the result lives; null if they are always there.
using Visit = std::function<std::shared_ptr<void>()>;

/// Model of a role; functions are set if it lives on this rank, and take micro-batches on the device.
struct ModelInStep {
  ModelSpec spec{};       // gives the cost of a sequence; known on all ranks
  ForwardPass forward{};  // without gradient, before the step's first update
  Visit visit{};          // for `forward`
  std::optional<Trained> trained{};
};
struct StepModels {
  at::Device device = at::kCPU;
  ByRole<ModelInStep> roles{};

  const ModelSpec& policy_spec() const { return roles.at(kPolicyRole).spec; }
};

/// Training settings of a transformer.
struct TrainedModelSettings {
  Recomputation recomputes{};
  bool with_entropy = true;
  bool gathers = false;  // gathers layers in each micro-batch of an update (ZeRO-3)
  RouterRule routers{};  // training of MoE routers
};
/// Teacher outputs per token: the top `count` tokens of the student's `vocabulary`, in the format of Batch::taught.
struct TopTokens {
  int64_t count = 0, vocabulary = 0;
  double temperature = 1;
};
/// Settings for computing with transformers.
struct ModelSettings {
  std::string learnt_mask = "response_mask";  // tokens whose log-probs are needed
  double temperature = 1;                     // temperature of log-probs: the sampler's, or 1 if it is greedy
  bool with_energies = false;                 // the policy's forward returns [2, T]: log-probs and energies
  ByRole<TrainedModelSettings> trained{};
  ByRole<TopTokens> top_tokens{};  // roles whose forwards return top tokens instead of log-probs
};
/// Makes the StepModels of transformers. `roles` and `meshes` must outlive them.
StepModels step_models(Roles& roles, const RoleMeshes& meshes, at::Device device, const ModelSettings& settings);

}  // namespace roll
