#include "shell/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "shell/cursor.h"
#include "shell/scoped.h"

namespace roll::shell {

namespace {

struct NotKnown {};

/// Binary operators with their precedence; tokenizing takes the longest match.
struct Operator {
  std::string_view text;
  int level;  // 0: not a binary operator
};
constexpr std::array kOperators{
    Operator{"<<=", 0}, Operator{">>=", 0}, Operator{"**", 11}, Operator{"<<", 8}, Operator{">>", 8}, Operator{"<=", 7},
    Operator{">=", 7},  Operator{"==", 6},  Operator{"!=", 6},  Operator{"&&", 2}, Operator{"||", 1}, Operator{"+=", 0},
    Operator{"-=", 0},  Operator{"*=", 0},  Operator{"/=", 0},  Operator{"%=", 0}, Operator{"++", 0}, Operator{"--", 0},
    Operator{"|", 3},   Operator{"^", 4},   Operator{"&", 5},   Operator{"<", 7},  Operator{">", 7},  Operator{"+", 9},
    Operator{"-", 9},   Operator{"*", 10},  Operator{"/", 10},  Operator{"%", 10}};

int64_t power(uint64_t base, int64_t exponent) {
  if (exponent < 0) throw NotKnown{};
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return static_cast<int64_t>(result);
}

/// Wraps where C++ overflow is undefined. Throws NotKnown for a division by zero.
int64_t apply(std::string_view sign, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const auto wrapped = [](uint64_t value) { return static_cast<int64_t>(value); };
  if ((sign == "/" || sign == "%") && b == 0) throw NotKnown{};
  if (sign == "/") return b == -1 ? wrapped(0 - x) : a / b;
  if (sign == "%") return b == -1 ? 0 : a % b;
  if (sign == "+") return wrapped(x + y);
  if (sign == "-") return wrapped(x - y);
  if (sign == "*") return wrapped(x * y);
  if (sign == "**") return power(x, b);
  if (sign == "<<") return wrapped(x << (y & 63));
  if (sign == ">>") return a >> (y & 63);
  if (sign == "<") return a < b;
  if (sign == ">") return a > b;
  if (sign == "<=") return a <= b;
  if (sign == ">=") return a >= b;
  if (sign == "==") return a == b;
  if (sign == "!=") return a != b;
  if (sign == "&") return a & b;
  if (sign == "^") return a ^ b;
  if (sign == "|") return a | b;
  return sign == "&&" ? a != 0 && b != 0 : a != 0 || b != 0;
}

class Expression {
 public:
  Expression(std::string text, const NumberVariables& variables, int depth)
      : cursor_(std::move(text), "", {}), variables_(variables), depth_(depth) {}

  int64_t evaluate_all() {
    skip();
    const int64_t value = cursor_.is_end() ? 0 : list();
    return cursor_.is_end() ? value : throw NotKnown{};
  }

 private:
  Scoped<int> deeper() {
    constexpr int kDeepest = 200;
    if (depth_ == kDeepest) throw NotKnown{};
    return {depth_, depth_ + 1};
  }
  void skip() {
    while (cursor_.is_at_any(" \t\r\n")) cursor_.skip(1);
  }
  Operator next_operator() {
    skip();
    const auto known = std::ranges::find_if(kOperators, [&](const Operator& each) { return cursor_.is_at(each.text); });
    return known == kOperators.end() ? Operator{cursor_.rest().substr(0, 1), 0} : *known;
  }
  bool take(std::string_view wanted) { return next_operator().text == wanted && cursor_.take(wanted); }
  void expect(std::string_view wanted) {
    if (!take(wanted)) throw NotKnown{};
  }
  int64_t list() {
    int64_t value = choice();
    while (take(",")) value = choice();
    return value;
  }
  int64_t choice() {
    const auto deep = deeper();
    const int64_t condition = binary(1);
    if (!take("?")) return condition;
    const int64_t yes = list();
    expect(":");
    const int64_t no = choice();
    return condition != 0 ? yes : no;
  }
  int64_t binary(int least) {
    const auto deep = deeper();
    int64_t value = unary();
    for (Operator found = next_operator(); found.level >= least; found = next_operator()) {
      cursor_.take(found.text);
      value = apply(found.text, value, binary(found.text == "**" ? found.level : found.level + 1));
    }
    return value;
  }
  int64_t unary() {
    const auto deep = deeper();
    for (const std::string_view sign_text : {"++", "--"})
      if (take(sign_text)) return change(name(), sign_text, 1);
    if (take("-")) return apply("-", 0, unary());
    if (take("+")) return unary();
    if (take("!")) return unary() == 0;
    return take("~") ? ~unary() : operand();
  }
  int64_t operand() {
    if (take("(")) {
      const int64_t value = list();
      expect(")");
      return value;
    }
    if (cursor_.is_at_any("0123456789")) return number();
    const std::string variable = name();
    if (take("=")) return assign(variable, choice());
    for (const std::string_view sign_text : {"+=", "-=", "*=", "/=", "%=", "<<=", ">>="})
      if (take(sign_text)) return change(variable, sign_text, choice());
    const int64_t value = get(variable);
    for (const std::string_view sign_text : {"++", "--"})
      if (take(sign_text)) change(variable, sign_text, 1);
    return value;
  }
  int64_t number() {
    const bool is_hex = cursor_.take("0x") || cursor_.take("0X");
    const std::string digits = cursor_.take_name();
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                               is_hex                    ? 16
                                               : digits.starts_with('0') ? 8
                                                                         : 10);
    return error == std::errc() && stop == digits.data() + digits.size() ? value : throw NotKnown{};
  }
  std::string name() {
    skip();
    std::string name = cursor_.take_name();
    return is_name(name) ? name : throw NotKnown{};
  }
  /// A variable's value may be an expression itself.
  int64_t get(const std::string& variable) {
    const auto text = variables_.get(variable);
    if (!text || has_unknown(*text)) throw NotKnown{};
    const auto deep = deeper();
    return Expression(*text, variables_, depth_).evaluate_all();
  }
  int64_t assign(const std::string& variable, int64_t value) {
    variables_.set(variable, fmt::format("{}", value));
    return value;
  }
  int64_t change(const std::string& variable, std::string_view sign_text, int64_t operand_value) {
    return assign(variable, apply(sign_text.substr(0, sign_text.ends_with('=') ? sign_text.size() - 1 : 1),
                                  get(variable), operand_value));
  }

  Cursor cursor_;
  const NumberVariables& variables_;
  int depth_;
};

}  // namespace

std::optional<int64_t> evaluate(std::string_view expression, const NumberVariables& variables) {
  if (has_unknown(expression)) return std::nullopt;
  try {
    return Expression(std::string(expression), variables, 0).evaluate_all();
  } catch (const NotKnown&) {
    return std::nullopt;
  }
}

}  // namespace roll::shell
