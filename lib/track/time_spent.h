// Breakdown of a run's time by phase, with configuration keys that shorten the longest one.
#pragma once

#include <string>

#include "track/history.h"

namespace roll {

/// Returns "time of 48 steps: 5 min 10 s, training 52 %, sampling 31 %, ...\n  to shorten training: ..."; "" if fewer
/// than two steps were timed.
std::string time_spent(const MetricHistory& history);

}  // namespace roll
