// Which planned ranks run in a forecast, where so many would take too long.
#pragma once

#include <cstdint>
#include <map>

#include "forecast/thin_step.h"
#include "settings/config.h"

namespace roll {

/// Tokens that a rank goes through at most for one role.
int64_t tokens_of_rank(const Config& config, const ThinStep& step);

/// The planned ranks that run, and for how many each of them stands: all where that is little work. Else of each class
/// of ranks that has the same roles one more of those that share a model, beside first ones of such about as large a
/// part; and the first ranks of all roles, which speak for them.
std::map<int, double> running_ranks(const Config& config, int64_t num_ranks, const ThinStep& step);

}  // namespace roll
