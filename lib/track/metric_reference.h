// What the metrics of a run mean: one row each, for `roll metrics` and `roll explain`. A test asks for every metric
// that runs write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct MetricWords {
  const char* name;   // '*' stands for any part between two '/', or any end of one
  const char* unit;   // "" for numbers without one
  const char* words;  // a sentence's beginning, in lower case
};

/// All of them, by what they are about. `<domain>/NAME` is NAME of that domain's responses, where a row says "by
/// domain".
std::span<const MetricWords> metric_reference();

/// The row of a metric as metrics.jsonl names it, with or without its domain; nullptr: none.
const MetricWords* find_metric(std::string_view name);

/// A line for each row whose name or words hold `pattern` (case does not count), or a Markdown table of them, under
/// headings; "" where there is none.
std::string metric_table(std::string_view pattern, bool markdown);

/// The names, for "did you mean".
std::vector<std::string> metric_names();

}  // namespace roll
