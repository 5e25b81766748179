// Trains one model on steps, for StepTrainer: epochs of mini-batches, one optimizer update each, with any loss.
#pragma once

#include "base/log.h"
#include "optim/learner.h"
#include "step/redistribution.h"
#include "step/role_losses.h"
#include "step/updates.h"

namespace roll {

/// Settings of a trained model.
struct TrainingSettings {
  std::string key{};         // the model's key in the configuration, for error messages: "actor_train"
  EpochRule epochs{};        // without the model's cost per sequence
  LearnerOptions learner{};  // learner.schedule covers the whole run
  RoleLossSettings loss{};
  UpdateSettings updates{};
};

/// Step as a role trains on it.
struct TrainingStep {
  const StepFacts& facts;     // facts of all sequences
  int64_t number = 0;         // number of the step, from 1
  int64_t num_groups = 0;     // prompts in the step
  Distribution distribution;  // over ranks of the role's mesh, for the first epoch
  Experience experience;      // this rank's sequences in `distribution`
  // Passed on as the fields of the same names of UpdatePlan (updates.h):
  std::function<std::string()> source{};
  std::function<at::Tensor()> empty_pass{};
  std::function<void(bool was_made)> after_update{};
};

/// Records of the first update of a training, for the key dump_experience and roll check-loss. Names and roles are
/// prefixes of metrics: "actor", "critic".
struct FirstUpdates {
  NamedTensors gradients;  // summed over ranks, before clipping; names: "actor.<HF name of the parameter>"
  std::vector<std::pair<std::string, UpdateTrace>> traces;  // role and time line
  std::vector<std::pair<std::string, double>> losses;       // role and loss of the whole mini-batch; role's ranks only
};
/// Copies `updates` of a role, all but the losses, from the role's ranks to all ranks of role.world(). **Collective**
/// over role.world().
void broadcast(FirstUpdates& updates, RoleMesh& role);

/// Trainer of one model on one rank of its mesh.
class RoleTrainer {
 public:
  /// epochs: settings.epochs with the model's cost per sequence. device: of the parameters. parameters: trained tensors
  /// of this rank, updated in place; ranks: that share or split them. All references must outlive the trainer.
  RoleTrainer(const TrainingSettings& settings, const EpochRule& epochs, at::Device device,
              const NamedTensors& parameters, const LearnerRanks& ranks, Mesh& mesh, Log& log);

  /// Runs all epochs of updates of a step; between epochs moves sequences to the ranks that need them next. loss and
  /// prepare: as for run_updates(). first_updates: the step's first update is recorded there; null: it is not. Returns
  /// the metrics of run_updates(). **Collective** over the mesh.
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
