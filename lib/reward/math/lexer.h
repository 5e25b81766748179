// Splits LaTeX or plain text into tokens, for grammar.h. Drops formatting: spaces, \left, \displaystyle, $, quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll::math {

struct Token {
  enum class Kind { kEnd, kNumber, kLetter, kCommand, kText, kSign };
  Kind kind = Kind::kEnd;
  // kNumber: digits; kCommand: name without backslash; kSign: one character, or "\\{", "\\}", "\\\\".
  std::string text;
  bool space_before = false;

  bool is(Kind k, std::string_view t) const { return kind == k && text == t; }
  bool sign(std::string_view t) const { return is(Kind::kSign, t); }
  bool command(std::string_view t) const { return is(Kind::kCommand, t); }
};

/// Returns the tokens of `text`; the last one is kEnd. Joins thousands separators into the number: "10,\!080" and
/// "1{,}000" always, "1,000" if every comma outside brackets can be one. Unreadable: the text exceeds the limits.
std::vector<Token> tokenize_latex(std::string_view text);

/// Returns lower-case text without formatting, to compare answers that are words or equal strings.
std::string plain_text(std::string_view text);

}  // namespace roll::math
