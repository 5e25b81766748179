// A model in training on steps, whatever its loss: PPO's epochs of mini-batches, each an optimizer update.
#pragma once

#include "base/log.h"
#include "optim/learner.h"
#include "step/redistribution.h"
#include "step/role_losses.h"
#include "step/updates.h"

namespace roll {

/// How a model is trained.
struct TrainingSettings {
  std::string key{};  // of the model in the configuration: error texts name it
  EpochRule epochs{};
  LearnerOptions learner{};  // its schedule is that of the whole run
  RoleLossSettings loss{};
  UpdateSettings updates{};
};

/// A step where a role trains on it.
struct TrainingStep {
  const StepFacts& facts;
  int64_t number = 0, num_groups = 0;
  Distribution at;                                     // ranks of the role's mesh
  Experience here;                                     // what of it is on this rank
  std::function<std::string()> source{};               // as UpdatePlan has it
  std::function<at::Tensor()> empty_pass{};            // likewise
  std::function<void(bool was_made)> behind_update{};  // likewise
};

/// For people who look into a step, and for roll check-loss: the first update of each role.
struct FirstUpdates {
  NamedTensors gradients;                                   // summed over the ranks, before clipping: "actor.<HF name>"
  std::vector<std::pair<std::string, UpdateTrace>> traces;  // by role
  std::vector<std::pair<std::string, double>> losses;       // by role, of the whole mini-batch; on its ranks
};
/// What the ranks of a role know of its update becomes known to all of its world. **Collective** over that.
void broadcast(FirstUpdates& of_role, RoleMesh& role);

class RoleTrainer {
 public:
  /// `epochs`: those of the settings, where sequences cost what they do in the model. All references must outlive this.
  RoleTrainer(const TrainingSettings& settings, const EpochRule& epochs, at::Device device,
              const NamedTensors& parameters, const LearnerRanks& ranks, Mesh& mesh, Log& log);

  /// Epochs x mini-batches of updates; between epochs sequences go where the next one wants them. `first` (when given)
  /// receives what the first update did. Metrics of run_updates() with those of the loss. **Collective** over the mesh.
  Metrics train(TrainingStep step, const MicroBatchLoss& loss, FirstUpdates* first, const Prepare& prepare = {});

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
