// Completes and checks the keys of training in environments (settings/agentic_config.h). load_config() calls it; the
// run reads the numbers of levels.
#pragma once

#include "config/checker.h"
#include "settings/config.h"

namespace roll {

struct Node;

/// Adds a reward of type `environment` for each played tag whose domain the file leaves out.
void add_environment_rewards(Node& tree);

/// Fills the group size, sampling, domain shares and reward normalisation from the keys of environments.
void complete_agentic(Config& config, Checker& check);

/// Caps the mini-batch at the step's trajectories if a multiple is configured. ROLL would fill it with copies
/// (batch_adjust_mode), which gives the same mean gradient. Call it once ranks are known.
void complete_copied_batches(Config& config, Checker& check);

/// Checks that the played environments can be made, that batch sizes are multiples of the group size, and that no other
/// key contradicts them. `offline`: skips checks that need files or programs.
void check_agentic(const Config& config, bool offline, Checker& check);

/// Returns the played environments by tag. An environment without format_penalty gets its manager's.
std::map<std::string, EnvironmentConfig> played_environments(const Config& config);

/// Returns the most contexts of a training trajectory, each of up to sequence_length tokens; 1 if all turns form one
/// sequence.
int64_t most_contexts(const Config& config);

/// Return the number of levels of each tag.
std::map<std::string, int64_t> training_levels(const Config& config);
std::map<std::string, int64_t> validation_levels(const Config& config);

}  // namespace roll
