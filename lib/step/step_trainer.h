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

/// Optional observers of a step's updates.
struct UpdateViews {
  ByRole<FirstUpdates>* first = nullptr;  // receives each role's first update of the step, on all learners; may be null
  /// Called with each micro-batch that the actor trains on and its log-probs [T], on the device; may be null.
  std::function<void(const Experience& micro_batch, const at::Tensor& log_probs)> on_log_probs{};
};

/// Trains the roles on steps; one object on each rank. The learners are the ranks that train or run forwards for
/// training (role_meshes.h). A step goes through distribute() on all ranks, then run_passes(), add_advantages() and
/// update() on the learners, then broadcast() on all ranks.
class StepTrainer {
 public:
  /// `settings`, `meshes` and `log` must outlive the trainer.
  StepTrainer(const StepSettings& settings, StepModels models, ByRole<RoleLoss> losses, RoleMeshes& meshes, Log& log);

  /// Moves sampled responses to the ranks that train on them, and fills `step`; the caller has set step.number. local:
  /// this rank's records; this call sorts them. Throws UserError if a response exists twice, or a replayed step has
  /// another number of prompts than configured; Bug if responses are missing. **Collective** over the world.
  void distribute(RlStep& step, std::vector<RolloutRecord>& local);
  /// Returns RlStep::home of step `number`, in world ranks: the policy's ranks that train on each sequence in the first
  /// epoch. Any rank may call it alone.
  Distribution plan_home(const StepFacts& facts, int64_t number) const;

  // Stages of a step, in this order. Each is **collective** over the learners and returns the same metrics on all of
  // them. Other ranks must not call them.

  /// Runs the forward passes of the settings, or `passes`, and stores their results in step.experience.
  Metrics run_passes(RlStep& step) { return run_passes(step, settings_.forwards); }
  Metrics run_passes(RlStep& step, const ForwardSettings& passes);
  /// Adds masks, token rewards, advantages and returns to step.experience. Its metrics include those of
  /// add_sampler_gap() if there are old log-probs. Does nothing if StepSettings::has_advantages is false.
  Metrics add_advantages(RlStep& step);
  /// Trains each role from its UpdatedRole::first_step on: one optimizer update per mini-batch and epoch.
  Metrics update(const RlStep& step, const UpdateViews& views = {});
  /// Runs the three stages above.
  Metrics learn(RlStep& step, const UpdateViews& views = {});

  /// Returns the learners' metrics on all ranks; other ranks pass empty ones. **Collective** over the world.
  Metrics broadcast(const Metrics& learner_metrics) { return broadcast_metrics(meshes_.learner_mesh, learner_metrics); }

  /// Returns the state that a checkpoint stores besides weights and optimizers: reward statistics, and Learner::state()
  /// of each role. **Collective** over the world.
  Json state();
  /// Loads state(), and from folder `optimizers` the optimizer states of this rank's roles. Call it on each rank.
  /// Throws UserError if a file is missing or does not fit the model.
  void load_state(const Json& state, const std::filesystem::path& optimizers);

  /// Returns a role's Learner (optim/learner.h); null if this rank is not one of the role's, or the role is not
  /// trained.
  Learner* find_learner(const std::string& role);
  /// Returns the Learner of each trained role on this rank.
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
