// Where the time of a run's steps went, and which keys would make the longest part shorter.
#pragma once

#include <string>

#include "track/history.h"

namespace roll {

/// "time of 48 steps: 5 min 10 s; training 52 %, sampling 31 %, ...\n  training: ..."; "" where fewer than two steps
/// say what they did.
std::string time_spent(const MetricHistory& history);

}  // namespace roll
