// Lexer for Python scripts, used by python.cpp: names (also keywords), numbers, strings and signs; comments are
// skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

struct PythonToken {
  enum class Kind { kName, kNumber, kText, kSign };
  Kind kind = Kind::kSign;
  std::string text;          // kText (a string): without quotes; \n, \t and escaped quotes resolved
  int line = 1;              // line in the script, from 1
  bool begins_line = false;  // first token of a line; false for lines inside brackets
  bool is_format = false;    // a string f"..."
};

/// Splits a script into tokens. Never fails: unknown characters become signs.
std::vector<PythonToken> python_tokens(std::string_view text);

}  // namespace roll
