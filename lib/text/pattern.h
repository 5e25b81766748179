// What a tokenizer.json splits or replaces by: a plain string, or a regular expression run by PCRE2 (base/regex.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"
#include "text/json_view.h"

namespace roll {

/// Immutable; may be used from several threads, each with its own MatchMemory.
class Pattern {
 public:
  /// Occurrences of a plain string.
  static Pattern literal(std::string_view text, const std::string& where);

  /// An Oniguruma expression (see pattern_syntax.h). UserError opened by `where` when it is malformed or not supported.
  static Pattern regex(std::string_view expression, const std::string& where);

  bool is_literal() const { return literal_; }

  /// Appends the matches in `text` (valid UTF-8), leftmost first, not overlapping; an empty match directly after
  /// another match is none. For an expression, `text` must have passed with_older_characters. UserError when a match
  /// costs too much.
  void find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const;

 private:
  Pattern(Regex regex, std::string name, bool literal)
      : regex_(std::move(regex)), name_(std::move(name)), literal_(literal) {}

  Regex regex_;
  std::string name_;  // in error messages
  bool literal_;
};

/// {"Regex": "..."} or {"String": "..."}, as tokenizer.json writes patterns.
Pattern read_pattern(const JsonView& json);

}  // namespace roll
