// Descriptions of all metrics, for `roll metrics` and `roll explain`. A test checks that every written metric has one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Description of a metric, or of a pattern of metrics.
struct MetricWords {
  const char* name;   // '*' matches any characters except '/'
  const char* unit;   // "" for dimensionless numbers
  const char* words;  // description, starting in lower case
};

/// Returns the description of a metric by its name in metrics.jsonl; nullptr if there is none. A reward domain's metric
/// "math/score/mean" is found as "score/mean", because the words of "score/*" end with "by domain".
const MetricWords* find_metric(std::string_view name);

/// Returns the descriptions whose name or words contain `pattern` (ignoring case; "" for all) under headings: one per
/// line or, if `markdown`, as Markdown tables. "" if none match.
std::string metric_table(std::string_view pattern, bool markdown);

/// Returns a data row's tag as used in metric names such as val_correct/<tag>/mean: "all", which stands for all rows,
/// becomes "all (tag)"; different tags stay different.
std::string tag_in_metric(const std::string& tag);

/// Returns true if this first part of metric names ("val_correct" in val_correct/<tag>/mean) is followed by tags or
/// plug-in names, so that a reward domain of this name could clash with them.
bool is_open_family(std::string_view domain);

/// Returns the names of all descriptions, some with '*', for "did you mean" hints.
std::vector<std::string> metric_names();

}  // namespace roll
