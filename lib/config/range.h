// Range: the allowed numbers of a configuration key. A range among the rules of a key in fields() (config/keys.h) is
// checked when configurations and flags are read, and shown by --help and `roll keys`.
#pragma once

#include <limits>
#include <optional>
#include <string>

namespace roll {

struct AnyMember;

/// An interval of finite numbers, with bounds included or not, and one more allowed value.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool includes_low = true, includes_high = true;
  std::optional<double> also{};  // one more allowed value, such as 0 for "off"

  /// Returns true if the value is allowed. Infinity and NaN are not, unless `also` is infinite.
  bool holds(double value) const;
  /// Returns the rule in words, for a message about the value `wrong` that breaks it: "must be above 0 and at most 1".
  std::string rule(double wrong) const;
  /// Returns the range as tables show it: "(0, 1]", "0 or 0.001..1000", ">= 1"; "" without bounds.
  std::string brief() const;

  /// Returns this range with one more allowed value.
  constexpr Range or_also(double value) const {
    Range range = *this;
    range.also = value;
    return range;
  }
};

// Ranges by their bounds. None contains infinity or NaN.
constexpr Range finite() {
  return {};
}
/// x with low <= x
constexpr Range at_least(double low) {
  return {.low = low};
}
/// x with low < x
constexpr Range above(double low) {
  return {.low = low, .includes_low = false};
}
/// x with low <= x <= high
constexpr Range within(double low, double high) {
  return {.low = low, .high = high};
}
/// x with low < x <= high
constexpr Range above_to(double low, double high) {
  return {.low = low, .high = high, .includes_low = false};
}
/// x with low <= x < high
constexpr Range from_below(double low, double high) {
  return {.low = low, .high = high, .includes_high = false};
}

// Ranges of counts, from 1 to a limit above which a value must be a typing error that would exhaust a host.
/// A length, or a number of tokens at once.
constexpr Range token_range() {
  return within(1, 1 << 24);
}
/// Sequences, prompts or responses held in memory at once.
constexpr Range sequence_range() {
  return within(1, 1 << 20);
}
/// Number of ranks in a group.
constexpr Range rank_range() {
  return within(1, 1 << 16);
}
/// Steps, updates or passes.
constexpr Range round_range() {
  return within(1, 1'000'000'000);
}

/// Returns the first number in `member` that is not in the range, also of the entries of a list, map or optional;
/// nullopt if there is none, such as in members without numbers (text, null, groups).
std::optional<double> outside(const Range& range, const AnyMember& member);

}  // namespace roll
