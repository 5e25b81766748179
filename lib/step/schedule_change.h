// Warns if a resumed run continues with another learning rate than its checkpoint's run would have (trained_roles.h).
#pragma once

#include <string>

#include "base/json.h"
#include "base/log.h"
#include "optim/schedule.h"

namespace roll {

/// Compares the next update's learning rate with the one stored in the checkpoint; max_steps and other schedule keys
/// may have changed. `learner`: Learner::state() in the checkpoint. `role` begins the warning.
void log_schedule_change(const std::string& role, const Json& learner, const LrSchedule& now, Log& log);

}  // namespace roll
