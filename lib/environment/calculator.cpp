#include "environment/calculator.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace roll {

namespace {

constexpr int kMaxNesting = 100;
constexpr double kMaxExactInteger = 9007199254740992;  // 2^53: below it whole numbers are exact

/// Recursive-descent parser; skips blanks after each symbol.
class Arithmetic {
 public:
  explicit Arithmetic(const std::string& text) : text_(text) { skip(); }

  double parse() {
    const double value = sum();
    if (position_ < text_.size()) fail();
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    if (position_ >= text_.size()) throw ToolError("the expression ends too early");
    throw ToolError(fmt::format("the expression is no arithmetic at character {}: {}", position_ + 1,
                                text_.substr(position_, text_.size() - position_ > 20 ? 20 : std::string::npos)));
  }

  void skip() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t'))
      ++position_;
  }

  bool take(const char* symbol) {
    const std::string expected(symbol);
    if (text_.compare(position_, expected.size(), expected) != 0) return false;
    if (expected == "*" && text_.compare(position_, 2, "**") == 0) return false;
    position_ += expected.size();
    skip();
    return true;
  }

  double sum() {
    double value = product();
    while (true)
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        return value;
  }

  double product() {
    double value = signed_power();
    while (true)
      if (take("*"))
        value *= signed_power();
      else if (take("/"))
        value /= divisor();
      else if (take("%"))
        value = remainder(value, divisor());
      else
        return value;
  }

  double divisor() {
    const double value = signed_power();
    if (value == 0) throw ToolError("division by zero");
    return value;
  }

  /// Returns the remainder with the divisor's sign, as in Python.
  static double remainder(double value, double modulus) { return value - modulus * std::floor(value / modulus); }

  double signed_power() {
    if (++depth_ > kMaxNesting) throw ToolError("the expression is nested too deeply");
    double value = 0;
    if (take("-"))
      value = -signed_power();
    else if (take("+"))
      value = signed_power();
    else if (value = operand(); take("**"))
      value = std::pow(value, signed_power());
    --depth_;
    return value;
  }

  double operand() {
    if (take("(")) {
      const double value = sum();
      if (!take(")")) fail();
      return value;
    }
    double value = 0;
    const char* begin = text_.data() + position_;
    const bool is_digit = position_ < text_.size() && ((*begin >= '0' && *begin <= '9') || *begin == '.');
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (!is_digit || error != std::errc()) fail();
    position_ = end - text_.data();
    skip();
    return value;
  }

  const std::string& text_;
  size_t position_ = 0;
  int depth_ = 0;
};

class Calculator : public Tool {
 public:
  std::string name() const override { return "calculator"; }
  std::string description() const override { return "Computes an arithmetic expression."; }
  std::string argument() const override { return "expression"; }
  std::string argument_description() const override { return "numbers, + - * / % ** and parentheses"; }
  std::string call(const std::string& expression) override { return calculate(expression); }
};

}  // namespace

std::string calculate(const std::string& expression) {
  const double value = Arithmetic(expression).parse();
  if (!std::isfinite(value)) throw ToolError("the result is no number");
  if (value == std::floor(value) && std::abs(value) < kMaxExactInteger)
    return std::to_string(static_cast<int64_t>(value));
  return fmt::format("{:.15g}", value);
}

std::unique_ptr<Tool> make_calculator() {
  return std::make_unique<Calculator>();
}

}  // namespace roll
