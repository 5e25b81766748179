// Breaks down a run's time by phase and names configuration keys that shorten the longest phase; shown at the run's
// end.
#pragma once

#include <string>

#include "track/history.h"

namespace roll {

/// Returns "time of 48 steps: 5 min 10 s, training 52 %, sampling 31 %, ...\n  to shorten training: ..."; "" if the
/// history has times of fewer than two steps, or of no training.
std::string time_spent(const MetricHistory& history);

}  // namespace roll
