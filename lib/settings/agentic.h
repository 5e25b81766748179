// Training in environments (settings/agentic_config.h): what follows from its keys, and what they must keep to.
#pragma once

#include "config/checker.h"
#include "settings/config.h"

namespace roll {

struct Node;

/// Each tag that is played is a domain whose reward is what its environment gives: adds those that the file leaves out.
void add_environment_rewards(Node& tree);

/// Fills what else says of groups, sampling, shares and normalisation from the keys of environments.
void complete_agentic(Config& config, Checker& check);

/// An update of more trajectories than a step has, which ROLL fills with copies (batch_adjust_mode), is one of the
/// step's own, once ranks are known: twice the same gradients, divided by twice their number.
void complete_copied_batches(Config& config, Checker& check);

/// Environments that are played can be made, budgets are whole, and the rest of the configuration goes with them.
void check_agentic(const Config& config, bool offline, Checker& check);

/// Those that are played, with the penalties that their managers say.
std::map<std::string, EnvironmentConfig> played_environments(const Config& config);

/// Contexts of a trajectory of training at most, each of sequence_length; 1 where all turns are one sequence.
int64_t most_contexts(const Config& config);

/// How many levels of each tag.
std::map<std::string, int64_t> training_levels(const Config& config);
std::map<std::string, int64_t> validation_levels(const Config& config);

}  // namespace roll
