// Completes and checks the configuration keys of training in environments (settings/agentic_config.h), for
// load_config(). A tag names an environment of custom_envs; it is played if train_env_manager or val_env_manager lists
// it. A level is one start of an environment (a seed or a task). A trajectory is one play of a level; each level is
// played group_size times. ROLL is the program whose configurations this program reads, too.
#pragma once

#include "config/checker.h"
#include "settings/config.h"

namespace roll {

struct Node;

/// Adds to `tree`, the parsed YAML file, a reward of type `environment` under the name of each played tag, unless the
/// file has a reward of that name. Called before the tree is read into a Config.
void add_environment_rewards(Node& tree);

/// Fills other keys from those of environments: num_return_sequences_in_group, prompt_length, the generating_args of
/// training and validation, domain_interleave_probs, and the normalisation of rewards. Does nothing if
/// train_env_manager has no tags. Part of complete(). Reports contradictions to `check`.
void complete_agentic(Config& config, Checker& check);

/// Sets the mini-batch of a trained role to the number of trajectories in a step, if it is configured as a larger
/// multiple of this number. ROLL would fill such a mini-batch with copies of the trajectories (batch_adjust_mode);
/// their mean gradient is the same. Call it after place_roles(), because the mini-batch may depend on the number of
/// ranks.
void complete_copied_batches(Config& config, Checker& check);

/// Checks that the played environments can be made, that batch sizes are multiples of the group size, and that no key
/// for training without environments, such as file_name, contradicts them. `offline`: skips checks that need files or
/// programs.
void check_agentic(const Config& config, bool offline, Checker& check);

/// Returns the configurations of the played environments, by tag. An environment without format_penalty gets the
/// format_penalty of the manager that lists it (of train_env_manager, if both do).
std::map<std::string, EnvironmentConfig> played_environments(const Config& config);

/// Returns the largest number of contexts that a training trajectory may have. A context is a sequence of prompt and
/// response, of up to sequence_length tokens. With StepEnvManager each turn is one, so that the result is max_steps;
/// else the whole trajectory is one. Returns 1 without environments.
int64_t most_contexts(const Config& config);

/// Return, by tag, the number of different levels to make: for the whole training, whose epochs repeat them, and for
/// each validation. The total is num_levels. If that is unset, it is 2048 or the prompts of a step if they are more,
/// and for a validation val_batch_size / group_size or num_env_groups.
std::map<std::string, int64_t> training_levels(const Config& config);
std::map<std::string, int64_t> validation_levels(const Config& config);

}  // namespace roll
