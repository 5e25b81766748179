#include "job/restart.h"

#include <algorithm>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"

namespace roll {

void export_restart(const Restart& restart) {
  set_env("ROLL_RESTART", std::to_string(restart.number));
  set_env("ROLL_RESTART_REASON",
          fmt::format("restart {} of {}: {}", restart.number, restart.max_restarts, restart.reason));
  set_env("ROLL_RESTART_FAILED_MS", fmt::format("{:.0f}", restart.failed_s * 1e3));
}

std::string restart_note() {
  const auto failed_ms = env_count("ROLL_RESTART_FAILED_MS");
  if (!env("ROLL_RESTART") || !failed_ms) return "";
  const double lost_s = std::max(0.0, wall_clock_s() - static_cast<double>(*failed_ms) / 1e3);
  return fmt::format("{}; working again after {}", env("ROLL_RESTART_REASON").value_or(""), duration_text(lost_s));
}

}  // namespace roll
