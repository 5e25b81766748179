#include "reward/pattern.h"

#include "base/error.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

Regex compile(const std::string& pattern, const std::string& origin, bool ignore_case) {
  try {
    return Regex(pattern, {.dot_all = true, .ignore_case = ignore_case, .timed = true});
  } catch (const RegexError& e) {
    throw user_error("{} = {}: not a regular expression: {} at character {}; use PCRE2 syntax", origin, pattern,
                     e.what(), e.offset);
  }
}

}  // namespace

AnswerPattern::AnswerPattern(const std::string& pattern, const std::string& origin, double time_limit_s,
                             bool ignore_case)
    : regex_(compile(pattern, origin, ignore_case)), memory_(regex_.num_groups()), time_limit_s_(time_limit_s) {}

bool AnswerPattern::matches(std::string_view text) {
  memory_.limit_time(time_limit_s_);
  return regex_.find(to_valid_utf8(text), 0, memory_).has_value();
}

std::optional<std::vector<std::string>> AnswerPattern::last_match(std::string_view response) {
  memory_.limit_time(time_limit_s_);
  const std::string text = to_valid_utf8(response);
  std::vector<Span> all;
  regex_.find_all(text, memory_, all);
  if (all.empty()) return std::nullopt;
  regex_.find(text, all.back().begin, memory_);  // match again to get its groups
  std::vector<std::string> groups;
  for (size_t i = 0; i <= regex_.num_groups(); ++i) {
    const auto group = memory_.group(i);
    groups.push_back(group ? text.substr(group->begin, group->end - group->begin) : "");
  }
  return groups;
}

}  // namespace roll
