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

/// Finds the row of a metric by its name in metrics.jsonl. <domain>/NAME matches NAME if its row says "by domain".
/// nullptr if there is none.
const MetricWords* find_metric(std::string_view name);

/// Lists rows whose name or words contain `pattern` (case-insensitive), one per line or as Markdown tables, under
/// headings; "" if none match.
std::string metric_table(std::string_view pattern, bool markdown);

/// Returns `tag` as used in metric names such as val_correct/<tag>/mean. "all" is reserved and becomes "all (tag)"; the
/// mapping is one-to-one.
std::string tag_in_metric(const std::string& tag);

/// Returns true if metrics DOMAIN/NAME contain tags or plug-in names, so that a reward domain of this name could clash.
bool is_open_family(std::string_view domain);

/// Returns all names, for "did you mean" hints.
std::vector<std::string> metric_names();

}  // namespace roll
