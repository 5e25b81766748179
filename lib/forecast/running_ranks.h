// Chooses the planned ranks that run in a simulation (planned_ranks.h), because running all would take too long.
#pragma once

#include <cstdint>
#include <map>

#include "forecast/thin_step.h"
#include "settings/config.h"

namespace roll {

/// Returns an upper estimate of the tokens (prompts and responses) that a rank processes in `step`: all tokens, divided
/// by the smallest number of data-parallel ranks of a role in learning_roles() (settings/placement.h). The simulation's
/// time is proportional to it.
int64_t tokens_per_rank(const Config& config, const ThinStep& step);

/// Chooses the ranks that run in `config`'s world of `num_ranks` ranks. Returns rank -> weight: the number of ranks for
/// which this rank counts in sums over all ranks. The weights add up to num_ranks. If num_ranks is at most 32 (or less,
/// if ranks have many tokens), all ranks run with weight 1. Otherwise two kinds of ranks run in each class of ranks
/// (rank_classes() in settings/placement.h). First ranks of some evenly spaced model copies share the weight of all
/// copies' first ranks, so weights may be fractions. One more rank has the weight of all other ranks of the class. The
/// first rank of each role, and pipeline stages for which running ranks wait, run with weight 0.
std::map<int, double> running_ranks(const Config& config, int64_t num_ranks, const ThinStep& step);

}  // namespace roll
