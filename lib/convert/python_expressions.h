// Constants of a Python script: numbers, texts, and what is calculated from them.
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
  std::string text;  // as YAML has it
  std::optional<double> number;
  bool is_known = true;
  bool is_text = false;
};

/// Reads the expressions of a list of tokens, from `at_` on.
class PythonExpressions {
 public:
  PythonExpressions(std::vector<PythonToken> tokens, const std::string& origin)
      : tokens_(std::move(tokens)), origin_(origin) {}

 protected:
  bool is_sign(size_t at, std::string_view sign) const;
  bool take(std::string_view sign);
  /// "s.py:12".
  std::string place(const PythonToken& token) const;

  /// Up to the comma, bracket or line that ends it; what is no constant is known by its text.
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
  /// Texts one after the other are one; an f-string's {NAME} are constants.
  PythonValue text_of(const PythonToken& first);

  int depth_ = 0;
};

}  // namespace roll
