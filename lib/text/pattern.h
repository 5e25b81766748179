// What a tokenizer.json splits or replaces by: a plain string, or a regular expression run by PCRE2 (with its JIT).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/json_view.h"

namespace roll {

/// Bytes [begin, end) of a text.
struct Span {
  size_t begin, end;
};

/// Memory that matching needs; one per thread that matches.
class MatchMemory {
 public:
  MatchMemory();
  MatchMemory(MatchMemory&&) noexcept;
  MatchMemory& operator=(MatchMemory&&) noexcept;
  ~MatchMemory();

 private:
  friend class Pattern;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Immutable; may be used from several threads, each with its own MatchMemory.
class Pattern {
 public:
  /// Occurrences of a plain string.
  static Pattern literal(std::string text);

  /// An Oniguruma expression (see pattern_syntax.h). UserError opened by `where` when it is malformed or not supported.
  static Pattern regex(std::string_view expression, const std::string& where);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  bool is_literal() const;

  /// Appends the matches in `text` (valid UTF-8), leftmost first, not overlapping; an empty match directly after
  /// another match is none. For an expression, `text` must have passed with_older_characters. UserError when a match
  /// costs too much.
  void find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const;

 private:
  struct Parts;
  explicit Pattern(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// {"Regex": "..."} or {"String": "..."}, as tokenizer.json writes patterns.
Pattern read_pattern(const JsonView& json);

}  // namespace roll
