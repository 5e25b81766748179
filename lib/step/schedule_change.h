// Warns if a resumed run continues with another learning rate than the run that wrote its checkpoint would have. Used
// by train/trained_roles.h.
#pragma once

#include <string>

#include "base/json.h"
#include "base/log.h"
#include "optim/schedule.h"

namespace roll {

/// Logs a warning if the checkpoint's learning rate for the next update differs from the one by `now`, the schedule of
/// this run. They differ if max_steps or other keys of the schedule have changed. learner: Learner::state() in the
/// checkpoint; without a stored rate there is no warning. role: begins the warning.
void log_schedule_change(const std::string& role, const Json& learner, const LrSchedule& now, Log& log);

}  // namespace roll
