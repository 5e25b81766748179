// Allowed numbers of a key. A range in the key's line of fields() applies to loading, --help, `roll keys` and tools'
// flags. NaN is in no range.
#pragma once

#include <limits>
#include <optional>
#include <string>

namespace roll {

struct AnyMember;

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool includes_low = true, includes_high = true;
  std::optional<double> also{};  // one more allowed value, such as 0 for "off"

  bool holds(double value) const;
  /// Returns the rule that the value `wrong` breaks: "must be above 0 and at most 1".
  std::string rule(double wrong) const;
  /// Returns the range as tables show it: "(0, 1]", "0 or 0.001..1000", ">= 1".
  std::string brief() const;

  /// Returns this range extended by one value.
  constexpr Range or_also(double value) const {
    Range range = *this;
    range.also = value;
    return range;
  }
};

constexpr Range finite() {
  return {};
}
constexpr Range at_least(double low) {
  return {.low = low};
}
constexpr Range above(double low) {
  return {.low = low, .includes_low = false};
}
constexpr Range within(double low, double high) {
  return {.low = low, .high = high};
}
/// low < x <= high
constexpr Range above_to(double low, double high) {
  return {.low = low, .high = high, .includes_low = false};
}
/// low <= x < high
constexpr Range from_below(double low, double high) {
  return {.low = low, .high = high, .includes_high = false};
}

// Limits of counts that determine memory or time: a larger value is a typing error that would exhaust a host.
/// A length or a budget of tokens.
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

/// Returns the first number in `member` (also in a list, map or optional) outside the range, or nullopt. Members
/// without numbers (text, null, groups) are always inside.
std::optional<double> outside(const Range& range, const AnyMember& member);

}  // namespace roll
