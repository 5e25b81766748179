// PCRE2 expressions with a bound on what a match may cost.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Thrown by AnswerPattern::search when the match limits were reached (catastrophic backtracking).
struct MatchLimitReached {};

class AnswerPattern {
 public:
  /// UTF-8, '.' matches newlines. UserError "origin = pattern: ..." when it does not compile.
  AnswerPattern(const std::string& pattern, const std::string& origin, bool ignore_case = false);
  ~AnswerPattern();
  AnswerPattern(AnswerPattern&&) noexcept;

  /// The last match's groups (0 is the whole match; unset groups are empty), or nothing.
  /// Invalid UTF-8 in `text` matches nothing it stands in. Throws MatchLimitReached.
  std::optional<std::vector<std::string>> last_match(std::string_view text) const;
  bool matches(std::string_view text) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace roll
