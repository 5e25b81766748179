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

/// Returns the configured losses of the trained roles. Throws UserError if a plug-in cannot be
/// opened.
ByRole<RoleLoss> role_losses(const StepSettings& settings);

/// Observers of a step's updates.
struct UpdateViews {
  ByRole<FirstUpdates>* first = nullptr;  // receives the step's first update of each role, on all learners; may be null
  /// Called with each micro-batch that the actor trains on and its log-probs [T], on the device; may be null.
  std::function<void(const Experience& micro_batch, const at::Tensor& log_probs)> on_log_probs{};
};

/// Made on all ranks. The learners are the ranks that train or run forwards for training (RoleMeshes::learners).
class StepTrainer {
 public:
  /// `settings`, `meshes` and `log` must outlive the trainer.
  StepTrainer(const StepSettings& settings, StepModels models, ByRole<RoleLoss> losses, RoleMeshes& meshes, Log& log);

  /// Moves sampled responses to the ranks that train on them, and fills all of `step` but step.number, which must be
  /// set. local: this rank's records; this call sorts them. Throws UserError if a response exists twice, or a replayed
  /// step has another number of prompts than configured. **Collective** over the world.
  void distribute(RlStep& step, std::vector<RolloutRecord>& local);
  /// Returns the home of a step's sequences (RlStep::home), in world ranks: which ranks of the policy train on them in
  /// the first epoch. number: of the step. Every rank can call it alone.
  Distribution plan_home(const StepFacts& facts, int64_t number) const;

  // Stages of a step on the learners, in this order. Each is **collective** over the learners, which all get the same
  // metrics.

  /// Runs the forward passes of the settings, or others, and fills their results in step.experience.
  Metrics run_passes(RlStep& step) { return run_passes(step, settings_.forwards); }
  Metrics run_passes(RlStep& step, const ForwardSettings& passes);
  /// Adds masks, token rewards, advantages and returns to step.experience, and compares the sampler's log-probs with
  /// the trainer's. Does nothing if StepSettings::has_advantages is false.
  Metrics add_advantages(RlStep& step);
  /// Updates each role that trains in this step, with one optimizer update per mini-batch.
  Metrics update(const RlStep& step, const UpdateViews& views = {});
  /// Runs the three stages above.
  Metrics learn(RlStep& step, const UpdateViews& views = {});

  /// Returns the learners' metrics on all ranks; other ranks pass empty ones. **Collective** over the world.
  Metrics broadcast(const Metrics& learner_metrics) { return broadcast_metrics(meshes_.learning, learner_metrics); }

  /// Returns the state that a checkpoint stores besides weights and optimizers: reward statistics, and each learner's
  /// position in its schedule. **Collective** over the world.
  Json state();
  /// Loads state(), and from folder `optimizers` the optimizer states of this rank's roles. Throws UserError if a file
  /// is missing or does not fit the model.
  void load_state(const Json& state, const std::filesystem::path& optimizers);

  /// Returns a role's learner; null if the role does not live on this rank or is not trained.
  Learner* find_learner(const std::string& role);
  /// Returns the learners of all trained roles on this rank.
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
