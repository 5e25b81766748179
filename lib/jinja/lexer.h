// Jinja source -> tokens, with the whitespace rules that Hugging Face sets: trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roll::jinja {

enum class TokenKind {
  kText,        // template text, white space already trimmed
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

/// UserError "origin:line: ...": an unclosed tag, comment or string, or a character that starts nothing.
std::vector<Token> tokenize(std::string_view source, const std::string& origin);

/// White space as Python's str.strip and \s see it.
bool is_python_space(char32_t c);

}  // namespace roll::jinja
