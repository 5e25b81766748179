// Searches responses for a regular expression from the user's configuration, with a time limit for each search. The
// syntax is PCRE2; '.' also matches newlines. Used by the reward type regex and the key format_pattern.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"

namespace roll {

/// Not thread-safe, because searches write to memory of the object.
class AnswerPattern {
 public:
  /// `origin`: the configuration key, for messages. `time_limit_s`: seconds for each call of last_match() or matches().
  /// `ignore_case`: letters match in either case. Throws UserError "origin = pattern: ..." if it does not compile.
  AnswerPattern(const std::string& pattern, const std::string& origin, double time_limit_s, bool ignore_case = false);

  /// Returns the groups of the last match in `text` (element 0 is the whole match; unset groups are ""), or nullopt if
  /// nothing matches. Throws MatchFailed if the limit on time, backtracking or memory is exceeded. `text`: any bytes.
  std::optional<std::vector<std::string>> last_match(std::string_view text);
  /// Returns the number of groups in the pattern, without the whole match.
  size_t num_groups() const { return regex_.num_groups(); }
  /// Returns whether the pattern matches anywhere in `text`. Throws MatchFailed like last_match().
  bool matches(std::string_view text);

 private:
  Regex regex_;
  MatchMemory memory_;
  double time_limit_s_;
};

}  // namespace roll
