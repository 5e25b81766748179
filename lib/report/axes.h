// What a run's steps can be laid along in place of their numbers.
#pragma once

#include <map>
#include <string>

#include "report/series.h"

namespace roll {

/// "tokens": those that were trained on up to and with each step; "hours": the time that its steps, validations and
/// waits for checkpoints took, without what the run did between restarts. Only those that the metrics tell.
std::map<std::string, Series> axes_of(const std::map<std::string, Series>& metrics);

}  // namespace roll
