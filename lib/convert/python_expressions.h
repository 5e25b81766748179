// Evaluates constant expressions of a Python script for python.cpp: numbers, strings, and arithmetic on them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/python_tokens.h"

namespace roll {

struct PythonValue {
  std::string text;              // in YAML form; if !is_known, the beginning of the source text
  std::optional<double> number;  // nullopt: not a number
  bool is_known = true;          // false: known only when the script runs
  bool is_text = false;          // a Python string
};

/// Base class of PythonReader (python.cpp): a recursive-descent parser over tokens; at_ is the next token's index.
/// `origin`, the script's name in messages, must outlive the object.
class PythonExpressions {
 public:
  PythonExpressions(std::vector<PythonToken> tokens, const std::string& origin)
      : tokens_(std::move(tokens)), origin_(origin) {}

 protected:
  /// Returns true if token number `at` is this sign; false after the last token.
  bool is_sign(size_t at, std::string_view sign) const;
  /// Skips the next token if it is this sign, and returns true if it was.
  bool take(std::string_view sign);
  /// Returns "s.py:12".
  std::string place(const PythonToken& token) const;

  /// Reads one argument of a call, up to a comma, closing bracket or new line, which is not taken. If it is not
  /// constant, the result has is_known = false, except for short lists and dicts without calls.
  PythonValue argument();

  std::vector<PythonToken> tokens_;
  const std::string& origin_;
  size_t at_ = 0;
  std::map<std::string, PythonValue> constants_;  // values of names, filled by the derived class

 private:
  bool ends_argument() const;
  PythonValue sum();
  PythonValue product();
  PythonValue power();
  PythonValue atom();
  /// Joins adjacent texts; replaces an f-string's {NAME} by the constant.
  PythonValue source_text(const PythonToken& first);

  int depth_ = 0;
};

}  // namespace roll
