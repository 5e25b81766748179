#include "shell/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "shell/syntax.h"
#include "shell/unknown.h"

namespace roll::shell {

namespace {

constexpr int kDeepestNumber = 50;

struct NotKnown {};

int64_t wrapped(uint64_t value) {
  return static_cast<int64_t>(value);
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) throw NotKnown{};
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest > 0; rest >>= 1, factor *= factor)
    if (rest & 1) result *= factor;
  return wrapped(result);
}

int64_t apply(std::string_view sign, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (sign == "+") return wrapped(x + y);
  if (sign == "-") return wrapped(x - y);
  if (sign == "*") return wrapped(x * y);
  if (sign == "/" || sign == "%") {
    if (b == 0) throw NotKnown{};
    if (b == -1) return sign == "/" ? wrapped(0 - x) : 0;
    return sign == "/" ? a / b : a % b;
  }
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
  if (sign == "&&") return a != 0 && b != 0;
  return a != 0 || b != 0;
}

/// Signs with two sides, those that bind less first.
struct Level {
  std::array<std::string_view, 4> signs;
};
constexpr std::array kLevels{Level{{"||"}},
                             Level{{"&&"}},
                             Level{{"|"}},
                             Level{{"^"}},
                             Level{{"&"}},
                             Level{{"==", "!="}},
                             Level{{"<=", ">=", "<", ">"}},
                             Level{{"<<", ">>"}},
                             Level{{"+", "-"}},
                             Level{{"*", "/", "%"}}};
/// The longest sign at a place is the one that stands there.
constexpr std::array<std::string_view, 27> kSigns{"**", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=",
                                                  "&&", "||",  "+=",  "-=", "*=", "/=", "%=", "++", "--",
                                                  "|",  "^",   "&",   "<",  ">",  "+",  "-",  "*",  "/"};

class Expression {
 public:
  Expression(std::string_view text, const NumberVariables& variables, int depth)
      : text_(text), variables_(variables), depth_(depth) {
    if (depth > kDeepestNumber) throw NotKnown{};
  }

  int64_t whole() {
    skip();
    if (at_ == text_.size()) return 0;
    const int64_t value = list();
    if (at_ != text_.size()) throw NotKnown{};
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  std::string_view sign() {
    skip();
    const std::string_view rest = text_.substr(at_);
    const auto known = std::ranges::find_if(kSigns, [&](std::string_view each) { return rest.starts_with(each); });
    return known == kSigns.end() ? rest.substr(0, 1) : *known;
  }
  bool take(std::string_view wanted) {
    if (sign() != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  int64_t list() {
    int64_t value = choice();
    while (take(",")) value = choice();
    return value;
  }
  int64_t choice() {
    const int64_t condition = binary(0);
    if (!take("?")) return condition;
    if (++depth_ > kDeepestNumber) throw NotKnown{};
    const int64_t yes = list();
    if (!take(":")) throw NotKnown{};
    const int64_t no = choice();
    --depth_;
    return condition != 0 ? yes : no;
  }
  int64_t binary(size_t level) {
    if (level == kLevels.size()) return powers();
    int64_t value = binary(level + 1);
    for (;;) {
      const std::string_view found = sign();
      const auto& signs = kLevels[level].signs;
      if (found.empty() || std::ranges::find(signs, found) == signs.end()) return value;
      at_ += found.size();
      value = apply(found, value, binary(level + 1));
    }
  }
  int64_t powers() {
    const int64_t base = unary();
    if (!take("**")) return base;
    if (++depth_ > kDeepestNumber) throw NotKnown{};
    const int64_t exponent = powers();
    --depth_;
    return power(base, exponent);
  }
  int64_t unary() {
    if (++depth_ > kDeepestNumber) throw NotKnown{};
    int64_t value = 0;
    if (take("++") || take("--")) {
      const bool is_plus = text_[at_ - 1] == '+';
      const std::string name = take_name();
      value = assign(name, apply(is_plus ? "+" : "-", get(name), 1));
    } else if (take("-"))
      value = apply("-", 0, unary());
    else if (take("+"))
      value = unary();
    else if (take("!"))
      value = unary() == 0;
    else if (take("~"))
      value = ~unary();
    else
      value = operand();
    --depth_;
    return value;
  }
  int64_t operand() {
    if (take("(")) {
      const int64_t value = list();
      if (!take(")")) throw NotKnown{};
      return value;
    }
    skip();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    const std::string name = take_name();
    for (const std::string_view with : {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>="})
      if (take(with)) {
        const int64_t value = choice();
        return assign(name, with == "=" ? value : apply(with.substr(0, with.size() - 1), get(name), value));
      }
    const int64_t value = get(name);
    if (take("++")) assign(name, apply("+", value, 1));
    if (take("--")) assign(name, apply("-", value, 1));
    return value;
  }
  int64_t number() {
    size_t end = at_;
    while (end < text_.size() && (is_name_char(text_[end]) || text_[end] == '#')) ++end;
    std::string_view digits = text_.substr(at_, end - at_);
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits[0] == '0')
      base = 8;
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || stop != digits.data() + digits.size()) throw NotKnown{};
    at_ = end;
    return value;
  }
  std::string take_name() {
    skip();
    size_t end = at_;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    std::string name(text_.substr(at_, end - at_));
    if (!is_name(name)) throw NotKnown{};
    at_ = end;
    return name;
  }
  int64_t get(const std::string& name) {
    const auto text = variables_.get(name);
    if (!text || has_unknown(*text)) throw NotKnown{};
    return Expression(*text, variables_, depth_ + 1).whole();  // a variable may hold an expression
  }
  int64_t assign(const std::string& name, int64_t value) {
    variables_.set(name, fmt::format("{}", value));
    return value;
  }

  std::string_view text_;
  const NumberVariables& variables_;
  int depth_;
  size_t at_ = 0;
};

}  // namespace

std::optional<int64_t> evaluate(std::string_view expression, const NumberVariables& variables) {
  if (has_unknown(expression)) return std::nullopt;
  try {
    return Expression(expression, variables, 0).whole();
  } catch (const NotKnown&) {
    return std::nullopt;
  }
}

}  // namespace roll::shell
