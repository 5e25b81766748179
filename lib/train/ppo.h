// The two models that a step trains: each with its learner, its mini-batches and its loss.
#pragma once

#include "base/log.h"
#include "dist/mesh.h"
#include "experience/experience.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "optim/learner.h"
#include "settings/config.h"
#include "train/role_losses.h"
#include "train/updates.h"

namespace roll {

/// The mini-batches of all epochs of a step of `num_sequences`, one after the other: plan_mini_batches() of each.
Partition step_mini_batches(const Config& config, const WorkerConfig& worker, int64_t num_sequences, int64_t step);

/// For people who look into a step: the first update of each role.
struct FirstUpdates {
  NamedTensors gradients;                                   // summed over the ranks, before clipping: "actor.<HF name>"
  std::vector<std::pair<std::string, UpdateTrace>> traces;  // by role
};

class ActorTrainer {
 public:
  /// `model` must outlive this and keep its parameters.
  ActorTrainer(const Config& config, Transformer& model, Mesh& mesh, Log& log);

  /// ppo_epochs x mini-batches of PPO updates. `first` (when given) receives what the first update did.
  /// **Collective**. Metrics of run_updates with actor/*.
  Metrics train(const Experience& step, int64_t num_groups, int64_t step_number, FirstUpdates* first);

  /// Leaves the device to the sampler, which needs the weights only.
  void put_away() { learner_.put_away(/*keeps_parameters=*/true); }
  void bring_back() { learner_.bring_back(); }

  Learner& learner() { return learner_; }
  const Learner& learner() const { return learner_; }

 private:
  const Config& config_;
  Transformer& model_;
  Mesh& mesh_;
  Log& log_;
  Learner learner_;
  ActorLoss loss_;
};

class CriticTrainer {
 public:
  CriticTrainer(const Config& config, ValueModel& model, Mesh& mesh, Log& log);

  /// The same for the value loss; gradients are named "critic.<HF name>", metrics critic/*.
  Metrics train(const Experience& step, int64_t num_groups, int64_t step_number, FirstUpdates* first);

  /// Leaves the device to the sampler.
  void put_away() { learner_.put_away(/*keeps_parameters=*/false); }
  void bring_back() { learner_.bring_back(); }

  Learner& learner() { return learner_; }
  const Learner& learner() const { return learner_; }

 private:
  const Config& config_;
  ValueModel& model_;
  Mesh& mesh_;
  Log& log_;
  Learner learner_;
  CriticLoss loss_;
};

}  // namespace roll
