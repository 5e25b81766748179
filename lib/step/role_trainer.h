// Trains one model on a step, for StepTrainer: some epochs of mini-batches, with one optimizer update per mini-batch.
// The caller gives the loss.
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
  EpochRule epochs{};        // micro_batches.packing.workload is not set
  LearnerOptions learner{};  // learner.schedule covers the whole run
  RoleLossSettings loss{};
  UpdateSettings updates{};
};

/// A step's data for one role, on one rank of the role's mesh.
struct TrainingStep {
  const StepFacts& facts;     // facts of all sequences
  int64_t number = 0;         // number of the step, from 1
  int64_t num_groups = 0;     // prompts in the step
  Distribution distribution;  // for the first epoch; ranks are numbers in the role's mesh
  Experience experience;      // this rank's sequences in `distribution`
  // Copied to the members of the same names of UpdatePlan (updates.h):
  std::function<std::string()> source{};
  std::function<at::Tensor()> empty_pass{};
  std::function<void(bool was_made)> after_update{};
};

/// Records of a step's first update, for the key dump_experience and `roll check-loss`. Roles are named by the prefixes
/// of their metrics: "actor", "critic".
struct FirstUpdates {
  NamedTensors gradients;  // whole parameters, summed over ranks, before clipping; "actor.<HF name of the parameter>"
  std::vector<std::pair<std::string, UpdateTrace>> traces;  // role, and time line of its update
  std::vector<std::pair<std::string, double>> losses;       // role, and loss of the whole mini-batch
};
/// Copies `updates` of a role from its ranks to all ranks of role.world(), where losses are then empty. Does nothing if
/// the role is on all these ranks. **Collective** over role.world().
void broadcast(FirstUpdates& updates, RoleMesh& role);

/// Trainer of one model; one object on each rank of the model's mesh.
class RoleTrainer {
 public:
  /// epochs: settings.epochs with packing.workload set to the model's cost. device: of the parameters. parameters:
  /// trained tensors of this rank, updated in place. ranks: the ranks that share or split them. All references must
  /// outlive the trainer. Throws UserError and is **Collective** like Learner's constructor.
  RoleTrainer(const TrainingSettings& settings, const EpochRule& epochs, at::Device device,
              const NamedTensors& parameters, const LearnerRanks& ranks, Mesh& mesh, Log& log);

  /// Runs all epochs of updates of a step. Before each epoch, moves sequences to the ranks that train on them in it.
  /// loss and prepare: as for run_updates(). first_updates: receives the record of the step's first update; may be
  /// null. Returns the metrics of run_updates(). **Collective** over the mesh.
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
