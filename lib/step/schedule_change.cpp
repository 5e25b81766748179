#include "step/schedule_change.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace roll {

namespace {
constexpr double kSameRate = 1e-9;  // relative; C libraries may round a cosine differently
}

void log_schedule_change(const std::string& role, const Json& learner, const LrSchedule& now, Log& log) {
  const auto before = learner.find("next_lr");
  const double next = now.at(learner.at("updates").get<int64_t>());
  if (before == learner.end() || !before->is_number() || std::abs(next - before->get<double>()) <= kSameRate * next)
    return;
  log.warn(
      "{}: the learning rate goes on at {:.3g}; as the checkpoint's run was configured, its next update would have had "
      "{:.3g} (lr_scheduler_type = {} over {} updates now)",
      role, next, before->get<double>(), enum_name(now.type), now.total_steps);
}

}  // namespace roll
