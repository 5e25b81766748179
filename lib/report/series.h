// A metric over the steps of a run, and its reduction for charts: neighbouring steps become one bucket with mean,
// minimum and maximum, so that outliers stay visible.
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
  int64_t first_step = 0, last_step = 0;
  double mean = 0, lowest = 0, highest = 0;  // over finite values; NaN if there are none
};

/// Splits the series into at most `max_buckets` buckets of equal size; the last may be smaller.
std::vector<StepSpan> split_into_buckets(const Series& series, size_t max_buckets);

/// Returns chart data: {"s": first steps, "v": values}; if buckets hold several steps, also "e": last steps, "lo" and
/// "hi". Consecutive steps are written as the first one only. Values have 6 significant digits.
Json drawn_series(const Series& series, size_t max_buckets);

/// Returns alternative x axes: "tokens", trained up to and including each step, and "hours" of steps, validations and
/// checkpoint waits, without time between restarts. An axis is missing if its metrics are.
std::map<std::string, Series> metric_axes(const std::map<std::string, Series>& metrics);

}  // namespace roll
