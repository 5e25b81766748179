// A user's regular expression over responses: '.' matches newlines, and matching has a time limit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"

namespace roll {

class AnswerPattern {
 public:
  /// Compiles PCRE2 syntax. UserError "origin = pattern: ...": it does not compile.
  AnswerPattern(const std::string& pattern, const std::string& origin, double time_limit_s, bool ignore_case = false);

  /// Returns the groups of the last match (0 is the whole match; unset groups are empty), or nullopt if nothing
  /// matches. MatchFailed: the time limit or the backtracking limit is exceeded.
  std::optional<std::vector<std::string>> last_match(std::string_view text);
  /// Returns the number of groups in the pattern.
  size_t num_groups() const { return regex_.num_groups(); }
  /// Returns whether the pattern matches anywhere. MatchFailed: as for last_match().
  bool matches(std::string_view text);

 private:
  Regex regex_;
  MatchMemory memory_;
  double time_limit_s_;
};

}  // namespace roll
