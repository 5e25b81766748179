// Splits Jinja source into tokens for token_stream.h, with Hugging Face's settings trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roll::jinja {

enum class TokenKind {
  kText,        // text between tags; whitespace at tags already trimmed
  kPrintBegin,  // {{
  kPrintEnd,    // }}
  kTagBegin,    // {%
  kTagEnd,      // %}
  kName,        // identifier or keyword
  kString,      // `text` is the value, escapes resolved
  kInteger,
  kFloat,
  kOperator,  // operator, bracket or comma
  kEnd,       // the last token
};

struct Token {
  TokenKind kind;
  std::string text;  // source text; kString: the string's value
  int line;          // from 1
};

/// Returns the tokens of a template, without comments. `origin` is the template's name in messages. Throws UserError
/// "ORIGIN:LINE: ..." for an unclosed tag, comment or string, and for an unexpected character.
std::vector<Token> tokenize(std::string_view source, const std::string& origin);

/// Returns true for whitespace as defined by Python's str.strip and \s.
bool is_python_space(char32_t c);

}  // namespace roll::jinja
