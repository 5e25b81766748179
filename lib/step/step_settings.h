// Settings of a training step as plain values, resolved from the configuration's keys, spellings and defaults. Other
// files of lib/step take only the parts they need.
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

/// Files with a step's responses, from which its updates can be replayed.
struct RolloutFiles {
  std::string folder;
  std::string ending;  // ".jsonl", or "-*.jsonl" if several ranks write parts
};

/// Trained role, with its training settings.
struct RoleUpdates : UpdatedRole {
  TrainingSettings training;
};

/// All settings of a training step.
struct StepSettings {
  RolePlaces places;
  int64_t num_groups = 0;  // prompts per step
  int64_t group_size = 1;  // responses per prompt
  bool replays_routing = false;
  std::string replay;  // folder of responses to train on; empty: responses are sampled
  RolloutFiles rollouts;
  ModelSettings models;
  ForwardSettings forwards;
  bool has_advantages = true;  // false: losses read the passes' results directly
  ExperienceConfig experience;
  std::vector<RoleUpdates> updates;  // in the order of a step

  /// Returns null if the role is not trained.
  const TrainingSettings* find_training(const std::string& role) const;
  const TrainingSettings& policy() const { return *find_training(kPolicyRole); }
};

/// Resolves the settings of a complete configuration.
StepSettings step_settings(const Config& config);

/// Returns a role's ranks and parallel layout.
RolePlace role_place(const WorkerConfig& worker);

/// Returns a role's model without trained adapters. UserError: the model is missing.
RoleSource role_source(const WorkerConfig& worker, at::Device device);

/// Returns the rule that trains a role's MoE routers besides its loss.
RouterRule router_rule(const StrategyConfig& strategy);

/// Returns the models of the policy and of all roles that train or run forwards. UserError: a model is missing.
RoleSources role_sources(const Config& config, at::Device device);

// Parts of the settings, for planning a step without training, and for a single worker.

ForwardSettings forward_settings(const Config& config);
EpochRule epoch_rule(const Config& config, const WorkerConfig& worker);

enum class Stage { kTrain, kForward };
/// Reads the worker's packing keys (or the dynamic-batching spelling), per_device_train_batch_size (kTrain) and
/// infer_batch_size (kForward).
BatchRule batch_rule(const WorkerConfig& worker, Stage stage);

/// Returns UpdateSettings::dropout_seed of a worker.
std::optional<uint64_t> dropout_seed(const WorkerConfig& worker, int64_t seed);

/// Returns the optimizer's options; the learning rate follows a schedule over `total_updates`.
LearnerOptions learner_options(const WorkerConfig& worker, double max_grad_norm, int64_t total_updates);

}  // namespace roll
