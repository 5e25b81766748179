#include "grammar/number_grammar.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "grammar/ebnf.h"

namespace roll {

namespace {

constexpr int kMaxDecimals = 6;
constexpr double kMaxInteger = 999'999'999'999, kMaxBound = 1e9;  // doubles hold bounds exactly in millionths
constexpr double kTolerance = 1e-4;

/// Bound, and whether it is exclusive.
struct Bound {
  double value = 0;
  bool is_exclusive = false;
};

double read_bound(const char* key, const Json& schema, bool is_integer, const std::string& where) {
  const Json& value = schema[key];
  const double most = is_integer ? kMaxInteger : kMaxBound;
  if (!value.is_number() || std::abs(value.get<double>()) > most)
    throw user_error("{}: {} = {}: must be a number within ±{:.0f}", where, key, to_line(value), most);
  const double scaled = value.get<double>() * 1e6;
  if (!is_integer && std::abs(scaled - std::round(scaled)) > 1e-3)
    throw user_error("{}: {} = {}: at most {} decimals", where, key, to_line(value), kMaxDecimals);
  return value.get<double>();
}

void tighten(Bound& bound, double value, bool is_exclusive, bool is_least) {
  if (is_least ? value > bound.value : value < bound.value)
    bound = {value, is_exclusive};
  else if (value == bound.value)
    bound.is_exclusive |= is_exclusive;
}

/// Returns the numbers with exactly `decimals` decimals; "" if there are none.
std::string with_decimals(const Bound& least, const Bound& most, int decimals, double scale) {
  const double low = least.value * scale, high = most.value * scale;
  auto from = static_cast<int64_t>(std::ceil(low - kTolerance)),
       to = static_cast<int64_t>(std::floor(high + kTolerance));
  if (least.is_exclusive && std::abs(static_cast<double>(from) - low) < kTolerance) ++from;
  if (most.is_exclusive && std::abs(static_cast<double>(to) - high) < kTolerance) --to;
  if (from > to) return "";
  return decimals == 0 ? ebnf_integers(from, to) : ebnf_decimals(from, to, decimals);
}

}  // namespace

std::string number_grammar(const Json& schema, bool is_integer, const std::string& where) {
  Bound least{-kMaxInteger}, most{kMaxInteger};
  bool is_bounded = false;
  for (const char* key : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    if (!schema.contains(key)) continue;
    const bool is_least = std::string(key).ends_with("inimum");
    tighten(is_least ? least : most, read_bound(key, schema, is_integer, where), key[0] == 'e', is_least);
    is_bounded = true;
  }
  if (!is_bounded) return is_integer ? "integer" : "number";
  std::string grammar;
  double scale = 1;
  for (int decimals = 0; decimals <= (is_integer ? 0 : kMaxDecimals); ++decimals, scale *= 10) {
    const std::string alternatives = with_decimals(least, most, decimals, scale);
    if (!alternatives.empty()) grammar += (grammar.empty() ? "" : " | ") + alternatives;
  }
  if (grammar.empty()) throw user_error("{}: no number lies between the bounds", where);
  return "(" + grammar + ")";
}

}  // namespace roll
