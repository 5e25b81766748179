// Settings of a training step as plain values, computed from a complete configuration. Only this file of lib/step reads
// Config; other files get the structs that they need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "experience/config.h"
#include "step/role_forwards.h"
#include "step/role_trainer.h"
#include "step/roles.h"

namespace roll {

struct Config;          // settings/config.h
struct StrategyConfig;  // dist/config.h
struct WorkerConfig;    // settings/config.h

/// Names of the files with a step's responses, from which the key rollout_replay can repeat the step:
/// <folder>/step_NNNNNN<ending>.
struct RolloutFiles {
  std::string folder;
  std::string ending;  // ".jsonl", or "-*.jsonl" if several ranks write files
};

/// A trained role with its training settings.
struct RoleUpdates : UpdatedRole {
  TrainingSettings training;
};

/// All settings of a training step.
struct StepSettings {
  RolePlaces places;             // ranks of the roles
  int64_t num_groups = 0;        // prompts per step
  int64_t group_size = 1;        // responses per prompt
  bool replays_routing = false;  // the trainer reuses the expert choices of the sampler's routers
  std::string replay;            // folder of recorded responses to train on; empty: responses are sampled
  RolloutFiles rollouts;         // files of responses, named in messages
  ModelSettings models;
  ForwardSettings forwards;
  bool has_advantages = true;  // false: losses read the forward passes' results, and no advantages are computed
  ExperienceConfig experience;
  std::vector<RoleUpdates> updates;  // roles that are trained, in the order of their updates in a step

  /// Returns the role's training settings; null if it is not trained.
  const TrainingSettings* find_training(const std::string& role) const;
  const TrainingSettings& policy() const { return *find_training(kPolicyRole); }
};

/// Returns the settings of a configuration whose defaults are filled in (settings/load_config.h).
StepSettings step_settings(const Config& config);

/// Returns the ranks and parallel layout of the role with this part of the configuration, e.g. actor_train.
RolePlace role_place(const WorkerConfig& worker);

/// Returns where a role's model comes from, with `lora` unset. device: selects the dtype if it is not configured.
/// Throws UserError if the model folder is missing.
RoleSource role_source(const WorkerConfig& worker, at::Device device);

/// Returns how a role's MoE routers are trained besides its loss: auxiliary costs and bias updates.
RouterRule router_rule(const StrategyConfig& strategy);

/// Returns the sources of the models of the policy and of all roles that train or run forwards, with the adapters to
/// train. Throws UserError if a model folder is missing.
RoleSources role_sources(const Config& config, at::Device device);

// Parts of the settings, for plans of a step without training, and for single roles.

/// Returns StepSettings::forwards.
ForwardSettings forward_settings(const Config& config);
/// Returns the epochs of a trained role; micro_batches.packing.workload is not set.
EpochRule epoch_rule(const Config& config, const WorkerConfig& worker);

/// Use of a batch: forward and backward (kTrain), or a pass without gradient (kForward).
enum class Stage { kTrain, kForward };
/// Returns how a role's sequences are split into micro-batches: by its keys of sequence packing or dynamic batching; if
/// none is set, by per_device_train_batch_size (kTrain) or infer_batch_size (kForward).
BatchRule batch_rule(const WorkerConfig& worker, Stage stage);

/// Returns UpdateSettings::dropout_seed: `seed` if the role has adapters with dropout, else nullopt.
std::optional<uint64_t> dropout_seed(const WorkerConfig& worker, int64_t seed);

/// Returns the optimizer's options for a role; the learning rate follows the configured schedule over `total_updates`
/// updates.
LearnerOptions learner_options(const WorkerConfig& worker, double max_grad_norm, int64_t total_updates);

}  // namespace roll
