// A metric over the steps of a run, and how a long one is drawn: neighbouring steps as one bucket that keeps its
// extremes, so that no outlier disappears.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

struct Series {
  std::vector<int64_t> steps;  // ascending
  std::vector<double> values;  // NaN: the file has no finite number there
};

struct StepSpan {
  int64_t first_step = 0, last_step = 0;
  double mean = 0, lowest = 0, highest = 0;  // of its finite values; NaN where it has none
};

/// Equally many neighbours in each of at most `most` buckets; but for the last one, which may have fewer.
std::vector<StepSpan> in_buckets(const Series& series, size_t most);

/// For the page: {"s": first steps, "v": values}, and where buckets hold several steps also "e": last steps, "lo" and
/// "hi". Steps that follow each other are written as the first of them; numbers have 6 significant digits.
Json drawn_series(const Series& series, size_t most);

/// What steps can be drawn along instead of their numbers, as far as the metrics tell: "tokens", trained up to and with
/// each step; "hours" of its steps, validations and waits for checkpoints, without the time between restarts.
std::map<std::string, Series> axes_of(const std::map<std::string, Series>& metrics);

}  // namespace roll
