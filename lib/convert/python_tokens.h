// Lexer for Python scripts, for python_expressions.h: names, numbers, texts and signs, without comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct PythonToken {
  enum class Kind { kName, kNumber, kText, kSign };
  Kind kind = Kind::kSign;
  std::string text;  // kText: without quotes, escapes such as \n resolved
  int line = 1;
  bool begins_line = false;  // only outside brackets
  bool is_format = false;    // f"..."
};

/// Splits a script into tokens. Never fails: unknown characters become signs.
std::vector<PythonToken> python_tokens(std::string_view text);

}  // namespace roll
