// Models of a step as StepTrainer sees them: trained tensors, and functions of a micro-batch. step_models() makes them
// of the run's transformers; `roll check-loss` makes its own, with tables of log-probs as parameters. Legend: T tokens
// of a micro-batch.
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

/// Results of a model for the tokens of a micro-batch. A policy fills `policy`, a critic fills `values`. Both are
/// undefined on all pipeline stages but the last.
struct Computed {
  TokenLogProbs policy{};  // log-probs are 0 outside ModelSettings::learnt_mask
  at::Tensor values{};     // [T]

  /// Returns true if the results are defined on this rank.
  bool is_here() const { return policy.log_probs.defined() || values.defined(); }
};

/// Parts of a model that training needs.
struct Trained {
  NamedTensors parameters;  // trained tensors of this rank; updated in place, so they must stay the same tensors
  LearnerRanks ranks;       // ranks that share or split the parameters
  std::function<Computed(const Experience& micro_batch)> forward;  // with gradient
  std::function<at::Tensor()> empty_pass{};                        // passed to UpdatePlan::empty_pass
  std::function<void(bool was_made)> after_update{};               // passed to UpdatePlan::after_update
  std::function<void(std::shared_ptr<LayerStore>)> use_store{};    // calls Backbone::use_store(); may be null
};

/// Brings a model's weights from host memory to the device for as long as the returned object lives.
using BringWeights = std::function<std::shared_ptr<void>()>;

/// Model of a role. If this rank is not one of the role's, only `spec` is set. Functions take micro-batches on the
/// device.
struct ModelInStep {
  ModelSpec spec{};              // gives the cost of a sequence; known on all ranks
  ForwardPass forward{};         // without gradient, before the step's first update
  BringWeights bring_weights{};  // called before `forward`, result held until after; null: weights are on the device
  std::optional<Trained> trained{};  // set if the role is trained
};
/// Models of all roles.
struct StepModels {
  at::Device device = at::kCPU;
  ByRole<ModelInStep> roles{};

  const ModelSpec& policy_spec() const { return roles.at(kPolicyRole).spec; }
};

/// Training settings of a transformer.
struct TrainedModelSettings {
  Recomputation recomputes{};  // activations that backward recomputes
  bool with_entropy = true;    // entropies are computed with the log-probs
  bool gathers = false;        // layers are gathered in each micro-batch of an update (ZeRO-3)
  double mtp_loss_coef = 0;    // coefficient of the MTP head's loss; 0: it is not trained
  RouterRule routers{};        // training of MoE routers
};
/// Outputs of a teacher in `roll distill`: the likeliest tokens and their log-probs. The forward returns [2k, T]
/// float32: k log-probs, then the k token ids.
struct TopTokens {
  int64_t count = 0;       // k, the number of tokens
  int64_t vocabulary = 0;  // size of the student's vocabulary; the teacher's further tokens are left out
  double temperature = 1;  // the log-probs are log_softmax(logits / temperature) over the k tokens
};
/// Settings for computing with transformers.
struct ModelSettings {
  std::string learnt_mask = "response_mask";  // name of the mask of tokens whose log-probs are computed
  double temperature = 1;                     // temperature of log-probs: the sampler's, or 1 if it is greedy
  bool with_energies = false;  // the policy's forward returns [2, T]: log-probs and energies (Experience::energies)
  ByRole<TrainedModelSettings> trained{};  // roles that are trained
  ByRole<TopTokens> top_tokens{};          // roles whose forwards return top tokens instead of log-probs
};
/// Returns the StepModels of the run's transformers and value models. `roles` and `meshes` must outlive the result.
StepModels step_models(Roles& roles, const RoleMeshes& meshes, at::Device device, const ModelSettings& settings);

}  // namespace roll
