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

/// The row of a metric as metrics.jsonl names it, with or without its domain (`<domain>/NAME`,
/// where a row says "by domain", is NAME of that domain's responses); nullptr: none.
const MetricWords* find_metric(std::string_view name);

/// A line for each row whose name or words hold `pattern` (case does not count), or a Markdown table of them, under
/// headings; "" where there is none.
std::string metric_table(std::string_view pattern, bool markdown);

/// `tag` as a part of a metric's name, as in val_correct/<tag>/mean: itself, but for "all", which is ours there and
/// becomes "all (tag)". No two tags become one.
std::string tag_in_metric(const std::string& tag);

/// Whether metrics DOMAIN/NAME hold names of tags or of plug-ins' metrics, so that a domain of this name could write
/// one of them a second time.
bool is_open_family(std::string_view domain);

/// The names, for "did you mean".
std::vector<std::string> metric_names();

}  // namespace roll
