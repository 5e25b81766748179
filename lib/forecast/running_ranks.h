// Chooses which planned ranks run in a simulation (simulation.h), because running all would take too long.
#pragma once

#include <cstdint>
#include <map>

#include "forecast/thin_step.h"
#include "settings/config.h"

namespace roll {

/// Returns the mean tokens per rank for the role with the fewest data-parallel ranks.
int64_t tokens_per_rank(const Config& config, const ThinStep& step);

/// Maps each planned rank that runs to the number of ranks it stands for. Runs all ranks if that is cheap. Otherwise,
/// per class of ranks with the same roles, runs first ranks of evenly spaced model replicas, and one other rank. The
/// first rank of each role runs too.
std::map<int, double> running_ranks(const Config& config, int64_t num_ranks, const ThinStep& step);

}  // namespace roll
