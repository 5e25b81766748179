#include "convert/python_expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/scalar.h"

namespace roll {

namespace {

constexpr int kMaxDepth = 50;
constexpr size_t kMaxTextBytes = 10'000;

PythonValue unknown_value() {
  return {"", std::nullopt, false};
}

PythonValue number_value(double number) {
  const bool is_whole = number == std::floor(number) && std::abs(number) < 1e15;
  return {is_whole ? fmt::format("{:.0f}", number) : fmt::format("{}", number), number};
}

PythonValue apply(char sign, const PythonValue& a, const PythonValue& b) {
  if (sign == '+' && a.is_text && b.is_text)
    return a.text.size() > kMaxTextBytes ? unknown_value() : PythonValue{a.text + b.text, std::nullopt, true, true};
  if (!a.number || !b.number || ((sign == '/' || sign == '%' || sign == 'f') && *b.number == 0)) return unknown_value();
  const double x = *a.number, y = *b.number;
  const double result = sign == '+'   ? x + y
                        : sign == '-' ? x - y
                        : sign == '*' ? x * y
                        : sign == '/' ? x / y
                        : sign == 'f' ? std::floor(x / y)
                        : sign == '%' ? x - y * std::floor(x / y)
                                      : std::pow(x, y);
  return std::isfinite(result) ? number_value(result) : unknown_value();
}

}  // namespace

bool PythonExpressions::is_sign(size_t at, std::string_view sign) const {
  return at < tokens_.size() && tokens_[at].kind == PythonToken::Kind::kSign && tokens_[at].text == sign;
}

bool PythonExpressions::take(std::string_view sign) {
  return is_sign(at_, sign) && ++at_ > 0;
}

std::string PythonExpressions::place(const PythonToken& token) const {
  return fmt::format("{}:{}", origin_, token.line);
}

PythonValue PythonExpressions::argument() {
  const size_t begin = at_;
  depth_ = 0;
  const PythonValue value = sum();
  if (value.is_known && ends_argument()) return value;
  int brackets = 0;
  std::string text;
  for (at_ = begin; at_ < tokens_.size() && (brackets > 0 || !ends_argument() || at_ == begin); ++at_) {
    const PythonToken& token = tokens_[at_];
    const bool is_sign = token.kind == PythonToken::Kind::kSign;
    if (is_sign && (token.text == ")" || token.text == "]" || token.text == "}") && --brackets < 0) break;
    if (is_sign && (token.text == "(" || token.text == "[" || token.text == "{")) ++brackets;
    if (text.size() < 60) text += token.kind == PythonToken::Kind::kText ? "\"" + token.text + "\"" : token.text;
  }
  const bool is_literal = text.starts_with("[") || text.starts_with("{");
  return {text, std::nullopt, is_literal && text.find('(') == text.npos && text.size() < 60};
}

bool PythonExpressions::ends_argument() const {
  return at_ >= tokens_.size() || is_sign(at_, ",") || is_sign(at_, ")") || is_sign(at_, "]") || is_sign(at_, "}") ||
         tokens_[at_].begins_line;
}

PythonValue PythonExpressions::sum() {
  if (++depth_ > kMaxDepth) return unknown_value();
  PythonValue value = product();
  for (;;) {
    const char sign = is_sign(at_, "+") ? '+' : is_sign(at_, "-") ? '-' : ' ';
    if (sign == ' ') return value;
    ++at_;
    value = apply(sign, value, product());
  }
}

PythonValue PythonExpressions::product() {
  PythonValue value = power();
  for (;;) {
    const char sign = is_sign(at_, "*")    ? '*'
                      : is_sign(at_, "/")  ? '/'
                      : is_sign(at_, "//") ? 'f'
                      : is_sign(at_, "%")  ? '%'
                                           : ' ';
    if (sign == ' ') return value;
    ++at_;
    value = apply(sign, value, power());
  }
}

PythonValue PythonExpressions::power() {
  if (take("-")) return ++depth_ > kMaxDepth ? unknown_value() : apply('-', number_value(0), power());
  const PythonValue base = atom();
  if (!take("**")) return base;
  return ++depth_ > kMaxDepth ? unknown_value() : apply('^', base, power());
}

PythonValue PythonExpressions::atom() {
  if (at_ >= tokens_.size()) return unknown_value();
  if (take("(")) {
    PythonValue value = sum();
    return take(")") ? value : unknown_value();
  }
  const PythonToken& token = tokens_[at_];
  if (token.kind == PythonToken::Kind::kSign) return unknown_value();
  ++at_;
  if (token.kind == PythonToken::Kind::kText) return source_text(token);
  if (token.kind == PythonToken::Kind::kNumber) {
    const auto number = parse_number(token.text);
    return number ? PythonValue{token.text, number} : unknown_value();
  }
  if (token.text == "True" || token.text == "False" || token.text == "None") return {token.text, std::nullopt};
  const auto constant = constants_.find(token.text);
  return constant == constants_.end() ? unknown_value() : constant->second;
}

PythonValue PythonExpressions::source_text(const PythonToken& first) {
  PythonValue value{"", std::nullopt, true, true};
  for (const PythonToken* token = &first;; token = &tokens_[at_++]) {
    for (size_t at = 0; at < token->text.size();) {
      const size_t open =
          token->is_format ? std::min(token->text.find('{', at), token->text.size()) : token->text.size();
      value.text += token->text.substr(at, open - at);
      const size_t close = token->text.find('}', open);
      if (open == token->text.size()) break;
      const auto constant = close == std::string::npos
                                ? constants_.end()
                                : constants_.find(token->text.substr(open + 1, close - open - 1));
      if (constant == constants_.end() || !constant->second.is_known || value.text.size() > kMaxTextBytes)
        return unknown_value();
      value.text += constant->second.text;
      at = close + 1;
    }
    if (at_ >= tokens_.size() || tokens_[at_].kind != PythonToken::Kind::kText || tokens_[at_].begins_line)
      return value;
  }
}

}  // namespace roll
