// Reduces a metric over the steps of a run for the charts of `roll report`: neighbouring steps become one bucket with
// mean, minimum and maximum, so that outliers stay visible.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Values of a metric by step.
struct Series {
  std::vector<int64_t> steps;  // ascending
  std::vector<double> values;  // NaN: null or not finite in the file
};

/// A bucket of neighbouring steps.
struct StepSpan {
  int64_t first_step = 0, last_step = 0;     // both inclusive
  double mean = 0, lowest = 0, highest = 0;  // over the finite values; NaN if no value is finite
};

/// Splits the series into at most `max_buckets` (> 0) buckets with equal numbers of steps; the last may be smaller.
std::vector<StepSpan> split_into_buckets(const Series& series, size_t max_buckets);

/// Returns chart data with one element per bucket in each list: {"s": first steps, "v": means}. If buckets hold several
/// steps, also "e": last steps, "lo": smallest and "hi": largest values. If the numbers in "s" (or "e") are
/// consecutive, it holds only the first number instead of a list. Values have 6 significant digits; NaN becomes null.
Json drawn_series(const Series& series, size_t max_buckets);

/// Returns other x axes for the charts, as running totals by step: "tokens" (trained up to and including the step) and
/// "hours" (of steps, validations and checkpoint waits, without time between restarts). An axis is missing if the run
/// lacks its metrics.
std::map<std::string, Series> metric_axes(const std::map<std::string, Series>& metrics);

}  // namespace roll
