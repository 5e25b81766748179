// What a step of training does, as plain values: the configuration's keys with their spellings, defaults and
// exceptions resolved in one place. Every other part of lib/step takes only what it needs of it.
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

/// Files that hold the responses of a step, from which its updates can be made again.
struct RolloutFiles {
  std::string folder;
  std::string ending;  // ".jsonl", or "-*.jsonl" where several ranks write parts
};

struct RoleUpdates : UpdatedRole {
  TrainingSettings training;
};

struct StepSettings {
  RolePlaces places;
  int64_t num_groups = 0;  // prompts of a step
  int64_t group_size = 1;  // responses to each
  bool replays_routing = false;
  std::string replay;  // folder of the responses that are trained on; empty: they are sampled
  RolloutFiles rollouts;
  ModelSettings models;
  ForwardSettings forwards;
  bool has_advantages = true;  // else losses read what the passes have found
  ExperienceConfig experience;
  std::vector<RoleUpdates> updates;  // in the order of a step

  /// Null: it is not trained.
  const TrainingSettings* training_of(const std::string& role) const;
  const TrainingSettings& policy() const { return *training_of(kPolicyRole); }
};

/// Of a configuration that is complete.
StepSettings step_settings(const Config& config);

/// On which ranks a role lives, and how these share its model.
RolePlace role_place(const WorkerConfig& worker);

/// Its model as it is, without adapters that are trained. UserError: it is not here.
RoleSource role_source(const WorkerConfig& worker, at::Device device);

/// What trains a role's routers beside its loss.
RouterRule router_rule(const StrategyConfig& strategy);

/// Of the policy, and the roles that the configuration trains or asks before it trains. UserError: a model that is not
/// here.
RoleSources role_sources(const Config& config, at::Device device);

// Parts of it, for whoever plans a step without training it; and of a worker alone.

ForwardSettings forward_settings(const Config& config);
EpochRule epoch_rule(const Config& config, const WorkerConfig& worker);

enum class Stage { kTrain, kForward };
/// From the worker's packing keys (or their dynamic-batching spelling), per_device_train_batch_size (kTrain) and
/// infer_batch_size (kForward).
BatchRule batch_rule(const WorkerConfig& worker, Stage stage);

/// UpdateSettings::dropout_seed of what the worker trains.
std::optional<uint64_t> dropout_seed(const WorkerConfig& worker, int64_t seed);

/// The learning rate follows a schedule over `total_updates`.
LearnerOptions learner_options(const WorkerConfig& worker, double max_grad_norm, int64_t total_updates);

}  // namespace roll
