// A run that goes on with another learning rate than its checkpoint's would have had.
#pragma once

#include <string>

#include "base/json.h"
#include "base/log.h"
#include "optim/schedule.h"

namespace roll {

/// Warns where the next update's learning rate is not the one that the checkpoint's run would have come to: max_steps
/// and what else shapes the schedule may change. `learner` is Learner::state() there, `role` opens the warning.
void log_schedule_change(const std::string& role, const Json& learner, const LrSchedule& now, Log& log);

}  // namespace roll
