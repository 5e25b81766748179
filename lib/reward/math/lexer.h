// LaTeX (or plain text) to tokens.
// What only changes the looks is dropped here: spaces, \left, \displaystyle, $, quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll::math {

struct Token {
  enum class Kind { kEnd, kNumber, kLetter, kCommand, kText, kSign };
  Kind kind = Kind::kEnd;
  // Number: digits; command: its name without backslash; sign: one character, or "\\{", "\\}", "\\\\".
  std::string text;
  bool space_before = false;

  bool is(Kind k, std::string_view t) const { return kind == k && text == t; }
  bool sign(std::string_view t) const { return is(Kind::kSign, t); }
  bool command(std::string_view t) const { return is(Kind::kCommand, t); }
};

/// Tokens of `text`, the last one kEnd. Thousands separators are joined into the number: "10,\!080", "1{,}000" always,
/// "1,000" when every comma outside brackets reads so. Throws Unreadable beyond the limits.
std::vector<Token> tokenize_latex(std::string_view text);

/// Lower-case text without looks: for the comparison of answers that are words, and of equal strings.
std::string plain_text(std::string_view text);

}  // namespace roll::math
