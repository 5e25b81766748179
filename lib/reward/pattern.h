// A user's regular expression over a response: '.' matches newlines, and it has a time limit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"

namespace roll {

class AnswerPattern {
 public:
  /// PCRE2 syntax. UserError "origin = pattern: ..." when it does not compile.
  AnswerPattern(const std::string& pattern, const std::string& origin, double time_limit_s, bool ignore_case = false);

  /// The last match's groups (0 is the whole match; unset groups are empty), or nothing. Throws MatchFailed when the
  /// time or the backtracking passes its limit.
  std::optional<std::vector<std::string>> last_match(std::string_view text);
  size_t num_groups() const { return regex_.num_groups(); }
  bool matches(std::string_view text);

 private:
  Regex regex_;
  MatchMemory memory_;
  double time_limit_s_;
};

}  // namespace roll
