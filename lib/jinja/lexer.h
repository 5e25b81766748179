// Splits Jinja source into tokens for token_stream.h, with Hugging Face's settings trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roll::jinja {

enum class TokenKind {
  kText,        // template text, whitespace already trimmed
  kPrintBegin,  // {{
  kPrintEnd,
  kTagBegin,  // {%
  kTagEnd,
  kName,
  kString,  // `text` is the value, escapes resolved
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;
  int line;
};

/// Returns the tokens. UserError "origin:line: ...": an unclosed tag, comment or string, or an unexpected character.
std::vector<Token> tokenize(std::string_view source, const std::string& origin);

/// Returns true for whitespace as defined by Python's str.strip and \s.
bool is_python_space(char32_t c);

}  // namespace roll::jinja
