// Trains one model on steps with any loss, for StepTrainer: epochs of mini-batches, one optimizer update each.
#pragma once

#include "base/log.h"
#include "optim/learner.h"
#include "step/redistribution.h"
#include "step/role_losses.h"
#include "step/updates.h"

namespace roll {

/// Settings of a trained model.
struct TrainingSettings {
  std::string key{};  // model's key in the configuration, for error messages
  EpochRule epochs{};
  LearnerOptions learner{};  // with a schedule over the whole run
  RoleLossSettings loss{};
  UpdateSettings updates{};
};

/// Step as a role trains on it.
struct TrainingStep {
  const StepFacts& facts;
  int64_t number = 0, num_groups = 0;
  Distribution distribution;                          // in ranks of the role's mesh
  Experience experience;                              // this rank's sequences
  std::function<std::string()> source{};              // see UpdatePlan
  std::function<at::Tensor()> empty_pass{};           // see UpdatePlan
  std::function<void(bool was_made)> after_update{};  // see UpdatePlan
};

/// First update of each role, for dump_experience and roll check-loss.
struct FirstUpdates {
  NamedTensors gradients;                                   // summed over ranks, before clipping: "actor.<HF name>"
  std::vector<std::pair<std::string, UpdateTrace>> traces;  // by role
  std::vector<std::pair<std::string, double>> losses;       // by role, of the whole mini-batch; on its ranks only
};
/// Sends a role's first update from its ranks to the whole of its world. **Collective** over that world.
void broadcast(FirstUpdates& updates, RoleMesh& role);

class RoleTrainer {
 public:
  /// `epochs`: those of the settings, with the model's cost per sequence. All references must outlive the trainer.
  RoleTrainer(const TrainingSettings& settings, const EpochRule& epochs, at::Device device,
              const NamedTensors& parameters, const LearnerRanks& ranks, Mesh& mesh, Log& log);

  /// Runs all epochs of updates; between epochs moves sequences to the ranks that need them next. `first`, if set,
  /// receives the first update. Returns the metrics of run_updates(), including the loss's. **Collective** over the
  /// mesh.
  Metrics train(TrainingStep step, const MicroBatchLoss& loss, FirstUpdates* first_updates,
                const Prepare& prepare = {});

  Learner& learner() { return learner_; }
  Mesh& mesh() { return mesh_; }

 private:
  const UpdateSettings& updates_;
  const EpochRule& epochs_;
  at::Device device_;
  Mesh& mesh_;
  Log& log_;
  Learner learner_;
};

}  // namespace roll
