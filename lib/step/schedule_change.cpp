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
      "{}: the learning rate continues at {:.3g}; with the configuration of the checkpoint's run, the next update "
      "would have used {:.3g} (now lr_scheduler_type = {} over {} updates)",
      role, next, before->get<double>(), enum_name(now.type), now.total_steps);
}

}  // namespace roll
