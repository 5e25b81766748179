// Search patterns of a tokenizer.json: plain strings, or regular expressions run by PCRE2 (base/regex.h). Used by the
// normalizer, pre-tokenizer and decoder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"
#include "text/json_view.h"

namespace roll {

/// Immutable and thread-safe; each thread needs its own MatchMemory.
class Pattern {
 public:
  /// Makes a pattern that matches a plain string. `where` begins error messages: "FILE: PATH".
  static Pattern literal(std::string_view text, const std::string& where);

  /// Makes a pattern from a regular expression in Oniguruma's syntax (pattern_syntax.h). Throws UserError
  /// "WHERE: ..." if it is malformed or unsupported.
  static Pattern regex(std::string_view expression, const std::string& where);

  bool is_literal() const { return literal_; }

  /// Appends the byte ranges [begin, end) of the non-overlapping matches in `text` (valid UTF-8), leftmost first. An
  /// empty match right after a match is skipped. If not is_literal(), the caller must first pass the text through
  /// with_older_characters() (unicode/unicode.h), because PCRE2 may not know the newest characters. It keeps byte
  /// positions, so the ranges hold for the original text, too. Throws UserError if matching exceeds PCRE2's limits.
  void find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const;

 private:
  Pattern(Regex regex, std::string name, bool literal)
      : regex_(std::move(regex)), name_(std::move(name)), literal_(literal) {}

  Regex regex_;
  std::string name_;  // for error messages
  bool literal_;
};

/// Makes a pattern from {"Regex": "..."} or {"String": "..."}; throws UserError for anything else.
Pattern read_pattern(const JsonView& json);

}  // namespace roll
