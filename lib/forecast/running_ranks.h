// Chooses which planned ranks run in a simulation (planned_ranks.h), because running all would take too long.
#pragma once

#include <cstdint>
#include <map>

#include "forecast/thin_step.h"
#include "settings/config.h"

namespace roll {

/// Returns the tokens of the step's sequences (prompts and responses) divided by the number of data-parallel ranks of
/// the training role that has the fewest: an upper estimate of a rank's tokens, by which the simulation's time grows.
int64_t tokens_per_rank(const Config& config, const ThinStep& step);

/// Chooses the ranks of `config`'s world of `num_ranks` ranks that shall run. Returns a weight for each: the number of
/// ranks for which it counts in sums over all ranks; weights add up to num_ranks. Chooses all ranks, with weight 1, if
/// they are at most 32 (fewer, the more tokens each has). Otherwise chooses, for each class of ranks with the same
/// roles, the first ranks of some evenly spaced model replicas, which count for all first ranks (so weights may be
/// fractions), and one rank that counts for all other ranks of the class. Adds with weight 0 the first rank of each
/// role, and the pipeline stages for which chosen ranks wait.
std::map<int, double> running_ranks(const Config& config, int64_t num_ranks, const ThinStep& step);

}  // namespace roll
