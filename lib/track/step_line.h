// Makes the summary line that standard output shows for a step: progress, speed and main metrics. Used by Tracker and
// the screen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "track/history.h"

namespace roll {

/// A metric and its display name.
struct Shown {
  std::string word;    // display name: "score"
  std::string metric;  // name in metrics.jsonl: "score/mean"
};

/// Metrics in the summary line. Metrics that a step lacks are left out.
struct Headline {
  Shown goal;                     // the metric to be improved, shown with its best value so far
  bool greater_is_better = true;  // for `goal`
  std::vector<Shown> others;
};

/// Returns the mean seconds per step over the newest 20 steps, including their validations and checkpoint waits; NaN
/// before the first step.
double seconds_per_step(const MetricHistory& history);

/// Returns a number with 4 significant digits; integers below 10 million in full.
std::string short_number(double value);

/// Returns the newest and the best value of headline.goal with the best one's step: "score 0.71 (best 0.78 @ 3)"; "" if
/// the history has no value.
std::string goal_text(const Headline& headline, const MetricHistory& history);

/// Returns the line for the newest step: "step 4/60 | 3.5 s/step | 3 min 16 s left | score 0.71 (best 0.78 @ 3) | KL
/// 0.02 | ...". `last_step` is the step at which the run ends.
std::string step_line(const Headline& headline, const MetricHistory& history, int64_t last_step);

}  // namespace roll
