// Two expressions are the same function if they agree at fixed points. Rational values are compared by their residues,
// where one differing point refutes; others approximately, at points where both values are known.
#include "reward/math/equal_expressions.h"

#include <cmath>
#include <vector>

#include "reward/math/evaluate.h"

namespace roll::math {

namespace {

constexpr int kPoints = 14;
constexpr Real kDecimals = 1e6L;

bool has_plain_log(const Node& node) {
  return any_node(
      node, [](const Node& n) { return n.kind == Kind::kFunction && n.text == "log" && n.arguments.size() == 1; });
}

bool same_to_decimals(Real a, Real b) {
  if (std::abs(a) > 1e12L || std::abs(b) > 1e12L) return std::abs(a - b) <= 1e-15L * std::max(std::abs(a), std::abs(b));
  const Real largest = std::max(std::abs(a), std::abs(b));
  if (largest < 1e-3L && std::abs(a - b) > 5e-5L * largest) return false;
  return std::nearbyint(a * kDecimals) == std::nearbyint(b * kDecimals);
}

/// Compares a decimal literal with a constant after rounding, because its writer rounded.
bool same_decimals(const Value& a, const Value& b) {
  return a.known() && b.known() && same_to_decimals(a.z.real(), b.z.real()) && same_to_decimals(a.z.imag(), b.z.imag());
}

struct Pair {
  Value a, b;
};

/// Returns the pairs with two known values. If at least two pairs lie in the real domains of all functions, returns
/// only such pairs.
std::vector<Pair> reliable(std::vector<Pair> all) {
  std::vector<Pair> known, clean;
  for (Pair& p : all) {
    if (!p.a.known() || !p.b.known()) continue;
    if (!p.a.branch && !p.b.branch) clean.push_back(p);
    known.push_back(p);
  }
  return clean.size() >= 2 ? clean : known;
}

bool same_function(const Node& a, const Node& b, bool log_is_10, Deadline& deadline) {
  std::vector<Pair> pairs;
  for (int index = 0; index < kPoints; ++index) {
    const Point point{index, log_is_10};
    pairs.push_back({evaluate(a, point, deadline), evaluate(b, point, deadline)});
    const Pair& last = pairs.back();
    if (last.a.constant && last.b.constant)
      return is_decimal(a) || is_decimal(b) ? same_decimals(last.a, last.b) || same_value(last.a, last.b)
                                            : same_value(last.a, last.b);
    if (last.a.exact && last.b.exact && last.a.residue != last.b.residue) return false;
  }
  const std::vector<Pair> points = reliable(std::move(pairs));
  for (const Pair& p : points)
    if (!same_value(p.a, p.b)) return false;
  return points.size() >= 2;
}

Node difference(const Node& left, const Node& right) {
  return make_node(Kind::kAdd, "", {left, make_node(Kind::kNegate, "", {right})});
}

bool vanishes(const Node& node, Deadline& deadline) {
  return equal_expressions(node, make_node(Kind::kNumber, "0"), deadline);
}

}  // namespace

bool equal_expressions(const Node& a, const Node& b, Deadline& deadline) {
  if (same_function(a, b, false, deadline)) return true;
  return (has_plain_log(a) || has_plain_log(b)) && same_function(a, b, true, deadline);
}

int proportion_of_differences(const Node& left_a, const Node& right_a, const Node& left_b, const Node& right_b,
                              Deadline& deadline) {
  const Node a = difference(left_a, right_a), b = difference(left_b, right_b);
  const bool a_vanishes = vanishes(a, deadline), b_vanishes = vanishes(b, deadline);
  if (a_vanishes || b_vanishes) return a_vanishes && b_vanishes ? 2 : 0;
  const Node quotient = make_node(Kind::kDivide, "", {a, b});
  std::vector<Value> values;
  for (int index = 0; index < kPoints; ++index) {
    const Value v = evaluate(quotient, {index, false}, deadline);
    if (v.known() && !v.branch) values.push_back(v);
  }
  for (const Value& v : values)
    if (!same_value(v, values[0])) return 0;
  if (values.size() < 2) return 0;
  return values[0].real() && values[0].z.real() > 0 ? 1 : -1;
}

long double real_constant(const Node& node, Deadline& deadline) {
  const Value v = evaluate(node, {}, deadline);
  if (!v.constant || !v.real() || !(v.known() || v.infinite)) throw Unreadable("no real constant");
  return v.z.real();
}

}  // namespace roll::math
