// The models of a step as its trainer sees them: tensors that are updated, and functions of a micro-batch. What is
// trained need not be a transformer: `roll check-loss` trains tables.
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

/// What a model says of the tokens of a micro-batch: a policy's log-probs (of the response tokens; 0 elsewhere), or a
/// critic's values [T]. Undefined on a stage but the last.
struct Computed {
  TokenLogProbs policy{};
  at::Tensor values{};

  bool is_here() const { return policy.log_probs.defined() || values.defined(); }
};

/// A model in training.
struct Trained {
  NamedTensors parameters;  // updated in place; they must stay these tensors
  LearnerRanks ranks;
  std::function<Computed(const Experience& micro_batch)> forward;  // with gradient
  std::function<at::Tensor()> empty_pass{};                        // as UpdatePlan has it
  std::function<void(bool was_made)> behind_update{};              // likewise
};

/// Has weights on the device while the result lives; null where they always are there.
using Visit = std::function<std::shared_ptr<void>()>;

/// Of a role, where it lives on this rank. Functions get micro-batches on the device.
struct ModelInStep {
  ModelSpec spec{};       // says what a sequence costs, and is known everywhere
  ForwardPass forward{};  // without gradient, before the step's first update
  Visit visit{};          // of that
  std::optional<Trained> trained{};
};
struct StepModels {
  at::Device device = at::kCPU;
  ByRole<ModelInStep> roles{};

  const ModelSpec& policy_spec() const { return roles.at(kPolicyRole).spec; }
};

/// How a transformer is trained.
struct TrainedModelSettings {
  Recomputation recomputes{};
  bool with_entropy = true;
  bool gathers = false;  // layers, in each micro-batch of an update
  RouterRule routers{};  // of its experts
};
/// What a teacher says of each token: the `count` likeliest of the student's `vocabulary`, as Batch::taught has them.
struct TopTokens {
  int64_t count = 0, vocabulary = 0;
  double temperature = 1;
};
/// How transformers compute that.
struct ModelSettings {
  std::string learnt_mask = "response_mask";  // the tokens of which log-probs are wanted
  double temperature = 1;                     // of log-probs: the sampler's, or 1 where that is greedy
  bool with_energies = false;                 // the policy's forward gives [2, T]: log-probs, and the energies
  ByRole<TrainedModelSettings> trained{};
  ByRole<TopTokens> top_tokens{};  // what these roles' forwards give in place of log-probs
};
/// Of transformers; `roles` and `meshes` must outlive what is given back.
StepModels step_models(Roles& roles, const RoleMeshes& meshes, at::Device device, const ModelSettings& settings);

}  // namespace roll
