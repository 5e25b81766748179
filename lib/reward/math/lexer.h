// Splits LaTeX or plain text into tokens, for grammar.h. Drops formatting: spaces, \left, \displaystyle, $, quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll::math {

struct Token {
  enum class Kind {
    kEnd,      // the end of the text
    kNumber,   // `text` has the digits, in the form of a Node of kind kNumber (node.h)
    kLetter,   // `text` is one letter, or another character that is not ASCII
    kCommand,  // `text` is the canonical name without backslash (commands.h), or "begin:pmatrix", "end:pmatrix"
    kText,     // `text` has words, a unit, a time or a date
    kSign      // `text` is one character, or \{, \} or a double backslash
  };
  Kind kind = Kind::kEnd;
  std::string text;
  bool space_before = false;  // white space precedes the token

  // Return whether the token is of this kind (of kind kSign, kCommand) and has the text `t`.
  bool is(Kind k, std::string_view t) const { return kind == k && text == t; }
  bool sign(std::string_view t) const { return is(Kind::kSign, t); }
  bool command(std::string_view t) const { return is(Kind::kCommand, t); }
};

/// Returns the tokens of `text`; the last one is kEnd. Removes thousands separators from numbers: always from
/// "10,\!080" and "1{,}000"; from "1,000" only if every comma of the text can be such a separator and none is in
/// brackets. Throws Unreadable if the text exceeds the limits of limits.h.
std::vector<Token> tokenize_latex(std::string_view text);

/// Returns the text in lower case, without LaTeX formatting, white space and punctuation at the end, to compare answers
/// that are words. Throws Unreadable like tokenize_latex().
std::string plain_text(std::string_view text);

}  // namespace roll::math
