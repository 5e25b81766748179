// Trains the roles of a step: forward passes, advantages, updates. Reinforcement learning (train/rlvr.h), trainings
// over rows (train/row_training.h), a forecast (forecast/planned_step.h) and a check of losses (preview/loss_layouts.h)
// call its stages, with models and losses of their own.
#pragma once

#include <functional>
#include <optional>

#include "base/log.h"
#include "dist/merged_metrics.h"
#include "experience/build.h"
#include "records/rollout_record.h"
#include "step/rl_step.h"
#include "step/role_trainer.h"
#include "step/step_models.h"
#include "step/step_settings.h"

namespace roll {

/// The configured losses of reinforcement learning, of actor and critic. UserError: a plug-in that cannot be opened.
ByRole<RoleLoss> role_losses(const StepSettings& settings);

/// What a caller wants to see of a step's updates.
struct UpdateViews {
  ByRole<FirstUpdates>* first = nullptr;  // receives what the first updates did, on all learners
  /// Called with each micro-batch of the actor and its log-probs [T]; may be empty.
  std::function<void(const Experience& micro_batch, const at::Tensor& log_probs)> on_log_probs{};
};

class StepTrainer {
 public:
  /// `settings`, `meshes` and `log` must outlive it.
  StepTrainer(const StepSettings& settings, StepModels models, ByRole<RoleLoss> losses, RoleMeshes& meshes, Log& log);

  /// Brings sampled responses to where they are trained on: fills in all of `step` but its number. `mine`: the records
  /// of this rank; sorted. **Collective** over the world. UserError: index_of()'s; a replay of another size.
  void distribute(RlStep& step, std::vector<RolloutRecord>& mine);
  /// Where sequences are at home in their step, as ranks of the world: where the policy's first epoch wants them.
  Distribution home_of(const StepFacts& facts, int64_t number) const;

  // The stages of a step on learners, in this order. Each is **collective** over them, and they all get its metrics.
  Metrics run_passes(RlStep& step) { return run_passes(step, settings_.forwards); }
  Metrics run_passes(RlStep& step, const ForwardSettings& passes);
  /// Token rewards, advantages and returns; the sampler's log-probs against the actor's. Nothing where losses read
  /// none.
  Metrics add_advantages(RlStep& step);
  /// Updates each role that is trained in this step.
  Metrics update(const RlStep& step, const UpdateViews& views = {});
  /// All three.
  Metrics learn(RlStep& step, const UpdateViews& views = {});

  /// What learners know becomes known to all ranks. **Collective** over the world.
  Metrics broadcast(const Metrics& of_learners) { return broadcast_metrics(meshes_.learning, of_learners); }

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
  Metrics complete(RlStep& step);
  TrainingStep training_step(const RlStep& step, const std::string& role) const;
  Metrics train_role(const RoleUpdates& update, TrainingStep step, const UpdateViews& views);
  MicroBatchLoss loss_of(const RoleUpdates& update, const UpdateViews& views);

  const StepSettings& settings_;
  StepModels models_;
  ByRole<RoleLoss> losses_;
  RoleMeshes& meshes_;
  Log& log_;
  ByRole<EpochRule> epochs_;
  ExperienceState state_;
  ByRole<RoleTrainer> trainers_;  // on this rank
};

}  // namespace roll
