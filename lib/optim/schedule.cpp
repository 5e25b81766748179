#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace roll {

double LrSchedule::at(int64_t step) const {
  // HF's "constant" is the one schedule that ignores warm-up; ours warms up whenever warm-up was asked for.
  const auto warmup = static_cast<double>(warmup_steps), now = static_cast<double>(step);
  if (step < warmup_steps) return peak_lr * now / warmup;
  const auto decay_steps = static_cast<double>(std::max<int64_t>(1, total_steps - warmup_steps));
  const double progress = std::min(1.0, static_cast<double>(step - warmup_steps) / decay_steps);
  // HF: with no warm-up the time scale of inverse_sqrt is 10,000 updates.
  const double scale = warmup_steps > 0 ? warmup : 10000.0;
  switch (type) {
    case LrScheduleType::kConstant:
      return peak_lr;
    case LrScheduleType::kInverseSqrt:
      return peak_lr / std::sqrt((now + (scale - warmup)) / scale);
    case LrScheduleType::kLinear:
    case LrScheduleType::kPolynomial:
      return peak_lr * (1.0 - progress);
    case LrScheduleType::kCosine:
      return peak_lr * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  }
  throw Bug("a schedule without a rule");
}

}  // namespace roll
