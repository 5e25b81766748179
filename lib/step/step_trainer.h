// A step of training, from sampled responses to updated weights: the one place that knows the order of its stages. A
// run (train/rlvr.h), a forecast (forecast/planned_step.h) and a check of losses (preview/loss_layouts.h) go through
// it with models of their own.
#pragma once

#include <functional>
#include <optional>

#include "base/log.h"
#include "experience/build.h"
#include "records/rollout_record.h"
#include "step/rl_step.h"
#include "step/role_trainer.h"
#include "step/step_models.h"
#include "step/step_settings.h"

namespace roll {

/// What a pipeline does beside the stages of a step, in this order.
struct StepHooks {
  /// On all ranks: the step's facts are known, and the records are not looked at any more.
  std::function<void()> on_distributed = [] {};
  // On learners.
  std::function<void(const char* stage)> on_stage = [](const char*) {};  // "forwards", "advantages", "train"
  std::function<void()> on_experience = [] {};                           // between the last two
  /// A micro-batch of the actor, and its log-probs [T].
  std::function<void(const Experience& micro_batch, const at::Tensor& log_probs)> on_log_probs =
      [](const Experience&, const at::Tensor&) {};
  std::function<void(Metrics& of_training)> on_trained = [](Metrics&) {};
  /// On all ranks, before they wait for what the learners know.
  std::function<void()> on_learnt = [] {};

  ByRole<FirstUpdates>* first = nullptr;  // receives what the first updates did, on all learners
};

class StepTrainer {
 public:
  /// References must outlive it. UserError: a plug-in that cannot be opened.
  StepTrainer(const StepSettings& settings, StepModels models, RoleMeshes& meshes, Log& log);

  /// The whole `step`, whose number is set: brings the sequences to where they are trained on, fills in what training
  /// needs, and updates each role that is trained in this step. `mine`: the records
  /// of this rank, sampled or read; sorted. Metrics of all roles, on all ranks. **Collective** over the world.
  /// UserError: index_of()'s; a replay of another size.
  Metrics run(RlStep& step, std::vector<RolloutRecord>& mine, const StepHooks& hooks);

  /// What a run that goes on takes up beside weights and optimizers: statistics of rewards, and each learner's place in
  /// its schedule. **Collective** over the world.
  Json state();
  /// Of this rank's roles, with their optimizers from that folder. UserError: see Learner::load.
  void load_state(const Json& state, const std::filesystem::path& optimizers);

  /// Null where the role does not live here, or is not trained.
  Learner* learner_of(const std::string& role);
  /// All that live here.
  ByRole<Learner*> learners();

 private:
  void distribute(RlStep& step, std::vector<RolloutRecord>& mine);
  Metrics learn(RlStep& step, const StepHooks& hooks);
  Metrics complete(RlStep& step);
  Metrics train(const RlStep& step, const StepHooks& hooks);
  TrainingStep training_step(const RlStep& step, const std::string& role) const;
  Metrics train_role(const RoleUpdates& update, TrainingStep step, const StepHooks& hooks);
  MicroBatchLoss<Experience> loss_of(const RoleUpdates& update, const StepHooks& hooks);

  const StepSettings& settings_;
  StepModels models_;
  RoleMeshes& meshes_;
  Log& log_;
  ByRole<EpochRule> epochs_;
  ExperienceState state_;
  std::optional<ActorLoss> actor_loss_;
  std::optional<CriticLoss> critic_loss_;
  ByRole<RoleTrainer> trainers_;  // on this rank
};

}  // namespace roll
