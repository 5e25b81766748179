// What a tokenizer.json splits or replaces by: a plain string, or a regular expression run by PCRE2 (base/regex.h).
#pragma once

#include <optional>
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
  static Pattern literal(std::string text);

  /// An Oniguruma expression (see pattern_syntax.h). UserError opened by `where` when it is malformed or not supported.
  static Pattern regex(std::string_view expression, const std::string& where);

  bool is_literal() const { return !regex_; }

  /// Appends the matches in `text` (valid UTF-8), leftmost first, not overlapping; an empty match directly after
  /// another match is none. For an expression, `text` must have passed with_older_characters. UserError when a match
  /// costs too much.
  void find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const;

 private:
  Pattern(std::string text, std::optional<Regex> regex) : text_(std::move(text)), regex_(std::move(regex)) {}

  /// The next match at or behind `from`.
  std::optional<Span> find(std::string_view text, size_t from, MatchMemory& memory) const;

  std::string text_;  // the literal, or how error messages name the expression
  std::optional<Regex> regex_;
};

/// {"Regex": "..."} or {"String": "..."}, as tokenizer.json writes patterns.
Pattern read_pattern(const JsonView& json);

}  // namespace roll
