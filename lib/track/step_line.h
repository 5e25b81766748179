// The summary line of a step on standard output: progress, speed, quality.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "track/history.h"

namespace roll {

/// A metric and its display name.
struct Shown {
  std::string word;
  std::string metric;
};

/// Metrics in the step line; missing ones are left out.
struct Headline {
  Shown goal;  // shown with its best step
  bool greater_is_better = true;
  std::vector<Shown> others;
};

/// Returns the seconds per step, a mean over the newest steps with validations and checkpoint waits; NaN before the
/// first.
double seconds_per_step(const MetricHistory& history);

/// Formats a number: 4 significant digits; integers in full.
std::string short_number(double value);

/// Returns e.g. "score 0.71 (best 0.78 @ 3)"; "" before the first.
std::string goal_text(const Headline& headline, const MetricHistory& history);

/// Formats the newest step: "step 4/60 | 3.5 s/step | 3 min 16 s left | score 0.71 (best 0.78 @ 3) | KL 0.02 | ...".
std::string step_line(const Headline& headline, const MetricHistory& history, int64_t last_step);

}  // namespace roll
