#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jinja/budget.h"
#include "jinja/functions.h"
#include "unicode/unicode.h"

namespace roll::jinja {

namespace {

Value repeat(const Value& a, int64_t times) {
  times = std::max<int64_t>(times, 0);
  const size_t unit = a.is_string() ? a.string().size() : a.list().size();
  if (unit == 0) return a;
  const size_t length = unit * std::min<size_t>(static_cast<size_t>(times), kMaxLength + 1);
  check_length(length);
  charge(length * (a.is_string() ? 1 : sizeof(Value)));
  std::string text;
  List list;
  for (int64_t i = 0; i < times; ++i) {
    if (a.is_string())
      text += a.string();
    else
      list.insert(list.end(), a.list().begin(), a.list().end());
  }
  return a.is_string() ? Value(std::move(text)) : Value(std::move(list));
}

Value concatenate(const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) {
    charge(a.string().size() + b.string().size());
    return a.string() + b.string();
  }
  charge((a.list().size() + b.list().size()) * sizeof(Value));
  List list = a.list();
  list.insert(list.end(), b.list().begin(), b.list().end());
  return list;
}

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/// Computes a ** b for b >= 0; returns false on overflow.
bool power(int64_t a, int64_t b, int64_t& result) {
  result = 1;
  if (a >= -1 && a <= 1) b = b == 0 ? 0 : 2 - b % 2;  // same value in fewer steps
  for (int64_t i = 0; i < b; ++i)
    if (__builtin_mul_overflow(result, a, &result)) return false;
  return true;
}

Value integer_arithmetic(const std::string& op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (op == "+") overflow = __builtin_add_overflow(a, b, &result);
  if (op == "-") overflow = __builtin_sub_overflow(a, b, &result);
  if (op == "*") overflow = __builtin_mul_overflow(a, b, &result);
  if (op == "//" || op == "%") {
    if (b == 0) throw Failure("division by zero");
    if (b == -1) return op == "%" ? Value(int64_t{0}) : integer_arithmetic("-", 0, a);
    result = op == "%" ? a - floor_divide(a, b) * b : floor_divide(a, b);
  }
  if (op == "**" && b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
  if (op == "**") overflow = !power(a, b, result);
  if (overflow) throw Failure(fmt::format("{} {} {} is too large", a, op, b));
  return result;
}

Value float_arithmetic(const std::string& op, double a, double b) {
  if ((op == "/" || op == "//" || op == "%") && b == 0) throw Failure("division by zero");
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "//") return std::floor(a / b);
  if (op == "%") return a - std::floor(a / b) * b;
  return std::pow(a, b);
}

}  // namespace

Value arithmetic(const std::string& op, const Value& a, const Value& b) {
  if (op == "~") return a.text() + b.text();
  if (a.is_number() && b.is_number()) {
    const bool integers = !a.is_float() && !b.is_float() && op != "/";
    return integers ? integer_arithmetic(op, a.integer(), b.integer()) : float_arithmetic(op, a.number(), b.number());
  }
  if (op == "+" && !a.is_number() && !b.is_number()) return concatenate(a, b);
  if (op == "*" && b.is_int() && (a.is_string() || a.is_list())) return repeat(a, b.integer());
  if (op == "*" && a.is_int() && (b.is_string() || b.is_list())) return repeat(b, a.integer());
  if (a.is_undefined()) a.string();  // throws; the message names the undefined value
  if (b.is_undefined()) b.string();
  throw Failure(fmt::format("{} {} {} is not possible", a.type_name(), op, b.type_name()));
}

Value negative(const Value& a) {
  if (a.is_float()) return -a.number();
  return integer_arithmetic("-", 0, a.integer());
}

namespace {

/// Returns the byte offset of each character of `s`, and the end.
std::vector<size_t> character_bounds(const std::string& s) {
  charge(s.size() * sizeof(size_t));
  std::vector<size_t> bounds{0};
  for (size_t pos = 0; pos < s.size(); bounds.push_back(pos)) next_code_point(s, pos);
  return bounds;
}

}  // namespace

Value get_item(const Value& object, const Value& index) {
  if (object.is_dict() || object.is_namespace()) {
    const Value* member = index.is_string() ? object.member(index.string()) : nullptr;
    return member ? *member : Value(Undefined{fmt::format("item {}", index.representation())});
  }
  if (!index.is_int()) {
    if (object.is_undefined()) object.string();
    return Undefined{fmt::format("item {} of a {}", index.representation(), object.type_name())};
  }
  const std::vector<size_t> bounds = object.is_string() ? character_bounds(object.string()) : std::vector<size_t>();
  const auto n = object.is_string() ? std::ssize(bounds) - 1 : std::ssize(object.list());
  const int64_t i = index.integer() < 0 ? index.integer() + n : index.integer();
  if (i < 0 || i >= n) return Undefined{fmt::format("item {} of {}", index.integer(), n)};
  return object.is_string() ? Value(object.string().substr(bounds[i], bounds[i + 1] - bounds[i])) : object.list()[i];
}

Value get_slice(const Value& object, const std::optional<int64_t>& begin, const std::optional<int64_t>& end,
                int64_t step) {
  if (step == 0) throw Failure("a slice's step is 0");
  const std::vector<size_t> bounds = object.is_string() ? character_bounds(object.string()) : std::vector<size_t>();
  const auto n = object.is_string() ? std::ssize(bounds) - 1 : std::ssize(object.list());
  step = std::clamp(step, -n - 1, n + 1);
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](const std::optional<int64_t>& at, int64_t fallback) {
    return at ? std::clamp(*at < 0 ? *at + n : *at, low, high) : fallback;
  };
  const int64_t first = bound(begin, step > 0 ? low : high), last = bound(end, step > 0 ? high : low);
  const int64_t count = step > 0 ? (last - first) : (first - last), stride = step > 0 ? step : -step;
  List list;
  std::string text;
  for (int64_t done = 0, i = first; done < count; done += stride, i += step) {
    if (object.is_string())
      text.append(object.string(), bounds[i], bounds[i + 1] - bounds[i]);
    else
      list.push_back(object.list()[i]);
  }
  return object.is_string() ? Value(std::move(text)) : Value(std::move(list));
}

}  // namespace roll::jinja
