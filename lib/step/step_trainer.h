// Trains the roles of a step: forward passes, advantages, updates. Used by reinforcement learning (train/rlvr.h),
// training on rows (train/row_training.h), forecasts (forecast/planned_step.h) and the loss check
// (preview/loss_layouts.h), each with its own models and losses.
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

/// Returns the configured losses of actor and critic. UserError: a plug-in cannot be opened.
ByRole<RoleLoss> role_losses(const StepSettings& settings);

/// Observers of a step's updates.
struct UpdateViews {
  ByRole<FirstUpdates>* first = nullptr;  // receives the first updates, on all learners
  /// Called with each micro-batch of the actor and its log-probs [T]; may be empty.
  std::function<void(const Experience& micro_batch, const at::Tensor& log_probs)> on_log_probs{};
};

class StepTrainer {
 public:
  /// `settings`, `meshes` and `log` must outlive the trainer.
  StepTrainer(const StepSettings& settings, StepModels models, ByRole<RoleLoss> losses, RoleMeshes& meshes, Log& log);

  /// Moves sampled responses to the ranks that train on them, and fills all of `step` but its number. `local`:
  /// this rank's records; this call sorts them. **Collective** over the world. UserError: make_step_index() fails, or a
  /// replayed step has another size.
  void distribute(RlStep& step, std::vector<RolloutRecord>& local);
  /// Returns the home of a step's sequences, in world ranks: the distribution of the policy's first epoch.
  Distribution find_home(const StepFacts& facts, int64_t number) const;

  // Stages of a step on the learners, in this order. Each is **collective** over them and returns the same metrics on
  // all.
  Metrics run_passes(RlStep& step) { return run_passes(step, settings_.forwards); }
  Metrics run_passes(RlStep& step, const ForwardSettings& passes);
  /// Adds token rewards, advantages and returns, and compares the sampler's log-probs with the actor's. Does nothing if
  /// the losses read no advantages.
  Metrics add_advantages(RlStep& step);
  /// Updates each role that trains in this step.
  Metrics update(const RlStep& step, const UpdateViews& views = {});
  /// Runs the three stages above.
  Metrics learn(RlStep& step, const UpdateViews& views = {});

  /// Sends the learners' metrics to all ranks. **Collective** over the world.
  Metrics broadcast(const Metrics& learner_metrics) { return broadcast_metrics(meshes_.learning, learner_metrics); }

  /// Returns the state that a checkpoint stores besides weights and optimizers: reward statistics, and each learner's
  /// position in its schedule. **Collective** over the world.
  Json state();
  /// Loads the state and the optimizers of this rank's roles from that folder. UserError: see Learner::load.
  void load_state(const Json& state, const std::filesystem::path& optimizers);

  /// Returns null if the role does not live on this rank or is not trained.
  Learner* find_learner(const std::string& role);
  /// Returns the learners on this rank.
  ByRole<Learner*> learners();

 private:
  Metrics complete(RlStep& step);
  TrainingStep training_step(const RlStep& step, const std::string& role) const;
  Metrics train_role(const RoleUpdates& update, TrainingStep step, const UpdateViews& views);
  MicroBatchLoss make_loss(const RoleUpdates& update, const UpdateViews& views);

  const StepSettings& settings_;
  StepModels models_;
  ByRole<RoleLoss> losses_;
  RoleMeshes& meshes_;
  Log& log_;
  ByRole<EpochRule> epochs_;
  ExperienceState state_;
  ByRole<RoleTrainer> trainers_;  // for the roles on this rank
};

}  // namespace roll
