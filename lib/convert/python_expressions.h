// Evaluates constant expressions of a Python script for python.h: numbers, texts, and arithmetic on them.
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
  std::string text;  // in YAML form
  std::optional<double> number;
  bool is_known = true;
  bool is_text = false;
};

/// Reads expressions from a list of tokens, beginning at `at_`.
class PythonExpressions {
 public:
  PythonExpressions(std::vector<PythonToken> tokens, const std::string& origin)
      : tokens_(std::move(tokens)), origin_(origin) {}

 protected:
  bool is_sign(size_t at, std::string_view sign) const;
  bool take(std::string_view sign);
  /// Returns "s.py:12".
  std::string place(const PythonToken& token) const;

  /// Reads one argument, up to a comma, closing bracket or new line. A value that is no constant keeps its source text.
  PythonValue argument();

  std::vector<PythonToken> tokens_;
  const std::string& origin_;
  size_t at_ = 0;
  std::map<std::string, PythonValue> constants_;

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
