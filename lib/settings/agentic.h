// Completes and checks the configuration keys of training in environments (settings/agentic_config.h), for
// load_config(). A tag names an environment of custom_envs; it is played if train_env_manager or val_env_manager lists
// it. A level is one start of an environment (a seed or a task); each level is played group_size times.
#pragma once

#include "config/checker.h"
#include "settings/config.h"

namespace roll {

struct Node;

/// Adds to `tree`, the parsed YAML file, a reward of type `environment` under the name of each played tag, unless the
/// file has a reward of that name. Called before the tree is read into a Config.
void add_environment_rewards(Node& tree);

/// Fills the group size, prompt_length, sampling, domain shares and reward normalisation from the keys of environments.
/// Does nothing if train_env_manager has no tags. Part of complete().
void complete_agentic(Config& config, Checker& check);

/// Lowers a trained role's mini-batch to the step's trajectories if it is a larger multiple of their number. ROLL fills
/// such a mini-batch with copies of the trajectories (batch_adjust_mode), which has the same mean gradient. Call it
/// after place_roles(), because the mini-batch may depend on the number of ranks.
void complete_copied_batches(Config& config, Checker& check);

/// Checks that the played environments can be made, that batch sizes are multiples of the group size, and that no other
/// key contradicts them. `offline`: skips checks that need files or programs.
void check_agentic(const Config& config, bool offline, Checker& check);

/// Returns the configurations of the played environments, by tag. An environment without format_penalty gets the
/// format_penalty of the manager that lists it (of train_env_manager, if both do).
std::map<std::string, EnvironmentConfig> played_environments(const Config& config);

/// Returns the largest number of contexts in a training trajectory. A context is a sequence of up to sequence_length
/// tokens: one per turn with StepEnvManager, one per trajectory otherwise. 1 without environments.
int64_t most_contexts(const Config& config);

/// Return, by tag, the number of different levels to make, for the whole training or for one validation.
std::map<std::string, int64_t> training_levels(const Config& config);
std::map<std::string, int64_t> validation_levels(const Config& config);

}  // namespace roll
