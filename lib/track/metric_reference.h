// Describes all metrics, for `roll metrics` and `roll explain`. A test checks that every written metric has a
// description.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Description of a metric, or of a pattern of metrics.
struct MetricWords {
  const char* name;   // in metrics.jsonl; '*' stands for any characters except '/'
  const char* unit;   // "" for dimensionless numbers
  const char* words;  // description, starting in lower case
};

/// Returns the description of a metric by its name in metrics.jsonl; nullptr if there is none. If a description's words
/// end with "by domain", a domain may precede its name: "math/score/mean" is found as "score/mean".
const MetricWords* find_metric(std::string_view name);

/// Returns a text of the descriptions whose name or words contain `pattern` (ignoring case; "": all), under headings:
/// one per line or, if `markdown`, as Markdown tables. "" if none match.
std::string metric_table(std::string_view pattern, bool markdown);

/// Returns a data row's tag in the form for metric names such as val_correct/<tag>/mean. There, "all" stands for all
/// rows, so the tag "all" becomes "all (tag)". Different tags stay different.
std::string tag_in_metric(const std::string& tag);

/// Returns true if metric names that begin with `domain` + "/" continue with tags or names of plug-ins, such as
/// val_correct/<tag>/mean. A reward domain of this name could then clash with them.
bool is_open_family(std::string_view domain);

/// Returns the names of all descriptions, some with '*', for "did you mean" hints.
std::vector<std::string> metric_names();

}  // namespace roll
