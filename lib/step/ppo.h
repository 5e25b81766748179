// The two models that a step trains: each with its learner, its mini-batches and its loss.
#pragma once

#include "base/log.h"
#include "dist/mesh.h"
#include "experience/experience.h"
#include "model/log_probs.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "optim/learner.h"
#include "settings/config.h"
#include "step/redistribution.h"
#include "step/role_losses.h"
#include "step/updates.h"

namespace roll {

/// The mini-batches of an epoch of a step of `num_sequences`: plan_mini_batches().
Partition epoch_mini_batches(const Config& config, const WorkerConfig& worker, int64_t num_sequences, int64_t step,
                             int64_t epoch);
/// Of all epochs, one after the other.
Partition step_mini_batches(const Config& config, const WorkerConfig& worker, int64_t num_sequences, int64_t step);

/// [mini-batch][data rank][micro-batch] sequences of the step: what is trained on in an epoch, of sequences of these
/// lengths.
std::vector<std::vector<Partition>> epoch_plans(const Config& config, const WorkerConfig& worker, const ModelSpec& spec,
                                                const std::vector<int64_t>& lengths, int64_t step, int64_t epoch);
/// What each data rank trains on in an epoch, of sequences of these lengths: sequences of the step, mini-batch after
/// mini-batch.
Partition epoch_shares(const Config& config, const WorkerConfig& worker, const ModelSpec& spec,
                       const std::vector<int64_t>& lengths, int64_t step, int64_t epoch);

/// Updates of a whole run.
int64_t actor_updates(const Config& config);
int64_t critic_updates(const Config& config);

/// A step where a role trains on it.
struct TrainingStep {
  const StepFacts& facts;
  int64_t number = 0, num_groups = 0;
  Distribution at;  // ranks of the role's mesh
  Experience here;  // what of it is on this rank
};

/// For people who look into a step, and for roll check-loss: the first update of each role.
struct FirstUpdates {
  NamedTensors gradients;                                   // summed over the ranks, before clipping: "actor.<HF name>"
  std::vector<std::pair<std::string, UpdateTrace>> traces;  // by role
  std::vector<std::pair<std::string, double>> losses;       // by role, of the whole mini-batch; on its ranks
};

/// A model as its trainer knows it.
template <class Computed>
struct Trained {
  NamedTensors parameters;  // updated in place; they must stay these tensors
  LearnerRanks ranks;
  ModelSpec spec;  // says what a sequence costs
  at::Device device;
  std::function<Computed(const Experience& micro_batch)> forward;  // with gradient, of a micro-batch on the device
};
using TrainedPolicy = Trained<TokenLogProbs>;  // of the response tokens; 0 elsewhere
using TrainedCritic = Trained<at::Tensor>;     // values [T]

/// `model` must outlive what is given back.
TrainedPolicy trained(const Config& config, Transformer& model, Mesh& mesh);
TrainedCritic trained(const Config& config, ValueModel& model, Mesh& mesh);

class TokenSamples;

class ActorTrainer {
 public:
  ActorTrainer(const Config& config, TrainedPolicy policy, Mesh& mesh, Log& log);

  /// ppo_epochs x mini-batches of PPO updates; between epochs sequences go where the next one wants them. `first` (when
  /// given) receives what the first update did, `samples` log-probs. **Collective**. Metrics of run_updates with
  /// actor/*.
  Metrics train(TrainingStep step, FirstUpdates* first, TokenSamples& samples);

  /// Leaves the device to the sampler, which needs the weights only.
  void put_away() { learner_.offload(/*keeps_parameters=*/true); }
  void bring_back() { learner_.reload(); }

  Learner& learner() { return learner_; }
  const Learner& learner() const { return learner_; }

 private:
  const Config& config_;
  TrainedPolicy policy_;
  Mesh& mesh_;
  Log& log_;
  Learner learner_;
  ActorLoss loss_;
};

class CriticTrainer {
 public:
  CriticTrainer(const Config& config, TrainedCritic critic, Mesh& mesh, Log& log);

  /// The same for the value loss; gradients are named "critic.<HF name>", metrics critic/*.
  Metrics train(TrainingStep step, FirstUpdates* first);

  /// Leaves the device to the sampler.
  void put_away() { learner_.offload(/*keeps_parameters=*/false); }
  void bring_back() { learner_.reload(); }

  Learner& learner() { return learner_; }
  const Learner& learner() const { return learner_; }

 private:
  const Config& config_;
  TrainedCritic critic_;
  Mesh& mesh_;
  Log& log_;
  Learner learner_;
  CriticLoss loss_;
};

}  // namespace roll
