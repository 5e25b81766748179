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

/// A model in training.
template <class Computed>
struct Trained {
  NamedTensors parameters;  // updated in place; they must stay these tensors
  LearnerRanks ranks;
  std::function<Computed(const Experience& micro_batch)> forward;  // with gradient; undefined on a stage but the last
  std::function<at::Tensor()> empty_pass{};                        // as UpdatePlan has it
  std::function<void(bool was_made)> behind_update{};              // likewise
};
using TrainedPolicy = Trained<TokenLogProbs>;  // of the response tokens; 0 elsewhere
using TrainedCritic = Trained<at::Tensor>;     // values [T]

/// Has weights on the device while the result lives; null where they always are there.
using Visit = std::function<std::shared_ptr<void>()>;

/// Of each role only what lives on this rank. Functions get micro-batches on `device`.
struct StepModels {
  at::Device device = at::kCPU;
  ModelSpec policy_spec{};  // specs say what a sequence costs, and are known everywhere
  std::optional<ModelSpec> critic_spec{};
  std::vector<ModelSpec> reference_specs{};
  std::optional<TrainedPolicy> actor{};
  std::optional<TrainedCritic> critic{};
  // Without gradient, before the step's first update.
  ForwardPass old_log_probs{}, values{};
  std::vector<ForwardPass> references{};
  std::vector<Visit> reference_visits{};  // of each reference; empty: of none
};

/// How transformers compute that.
struct ModelSettings {
  double temperature = 1;  // of log-probs: the sampler's, or 1 where that is greedy
  Recomputation actor_recomputes{}, critic_recomputes{};
  bool with_energies = false;                          // old_log_probs gives [2, T]: these, and the energies
  bool actor_gathers = false, critic_gathers = false;  // layers, in each micro-batch of an update
  RouterRule routers{};                                // of the actor's experts
};
/// Of transformers; `roles` and `meshes` must outlive what is given back.
StepModels step_models(Roles& roles, const RoleMeshes& meshes, at::Device device, const ModelSettings& settings);

}  // namespace roll
