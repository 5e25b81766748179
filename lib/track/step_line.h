// The line that a step is for people who follow a run: how far, how fast, how well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "track/history.h"

namespace roll {

/// A metric under the word that people know it by.
struct Shown {
  std::string word;
  std::string metric;
};

/// What is shown of a step. Metrics that a step does not have are left out.
struct Headline {
  Shown goal;  // shown with its best step
  bool greater_is_better = true;
  std::vector<Shown> others;
};

/// How long a step takes, seconds: the mean of the newest ones, with their share of validations and of waiting for
/// checkpoints; NaN before the first.
double seconds_per_step(const MetricHistory& history);

/// Short and stable in width: 4 significant digits, whole numbers as they are.
std::string short_number(double value);

/// "score 0.71 (best 0.78 @ 3)"; "" before the first.
std::string goal_text(const Headline& headline, const MetricHistory& history);

/// "step 4/60 | 3.5 s/step | 3 min 16 s left | score 0.71 (best 0.78 @ 3) | KL 0.02 | ..." of the newest step.
std::string step_line(const Headline& headline, const MetricHistory& history, int64_t last_step);

}  // namespace roll
