#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

const std::vector<std::string>& LrSchedule::types() {
  static const std::vector<std::string> names = {"linear",       "cosine",    "constant", "constant_with_warmup",
                                                 "inverse_sqrt", "polynomial"};
  return names;
}

double LrSchedule::at(int64_t step) const {
  // HF's "constant" is the one schedule that ignores warm-up; ours warms up whenever warm-up was asked for.
  if (step < warmup_steps) return peak_lr * static_cast<double>(step) / static_cast<double>(warmup_steps);
  if (type == "constant" || type == "constant_with_warmup") return peak_lr;
  if (type == "inverse_sqrt") {
    // HF: with no warm-up the time scale is 10,000 updates.
    const double scale = warmup_steps > 0 ? static_cast<double>(warmup_steps) : 10000.0;
    const double shift = scale - static_cast<double>(warmup_steps);
    return peak_lr / std::sqrt((static_cast<double>(step) + shift) / scale);
  }
  const auto decay_steps = static_cast<double>(std::max<int64_t>(1, total_steps - warmup_steps));
  const double progress = std::min(1.0, static_cast<double>(step - warmup_steps) / decay_steps);
  if (type == "linear" || type == "polynomial") return peak_lr * (1.0 - progress);
  if (type == "cosine") return peak_lr * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  throw user_error("lr_scheduler_type = {}: unknown schedule{}; use one of {}", type, did_you_mean(type, types()),
                   fmt::join(types(), ", "));
}

}  // namespace roll
