#include "reward/code/same_output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "reward/text_measures.h"

namespace roll {

namespace {

constexpr std::string_view kSpaces = " \t\r\n\v\f";

/// digits x 10^exponent, without leading and trailing zeros; zero has no digits and no sign.
struct Decimal {
  bool is_negative = false;
  std::string digits;
  int64_t exponent = 0;
  bool operator==(const Decimal&) const = default;
};

std::optional<Decimal> parse_decimal(std::string_view word) {
  Decimal number;
  if (word.starts_with('-') || word.starts_with('+')) {
    number.is_negative = word[0] == '-';
    word.remove_prefix(1);
  }
  if (const size_t e = word.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view power = word.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto [end, error] = std::from_chars(power.begin(), power.end(), number.exponent);
    if (error != std::errc() || end != power.end() || std::abs(number.exponent) > 1'000'000'000) return std::nullopt;
    word = word.substr(0, e);
  }
  bool is_behind_point = false, has_digit = false;
  for (const char c : word) {
    if (c == '.' && !is_behind_point) {
      is_behind_point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    has_digit = true;
    number.digits += c;
    number.exponent -= is_behind_point;
  }
  if (!has_digit) return std::nullopt;
  const size_t last = number.digits.find_last_not_of('0');
  if (last == std::string::npos) return Decimal();
  number.exponent += static_cast<int64_t>(number.digits.size() - last - 1);
  number.digits.resize(last + 1);
  number.digits.erase(0, number.digits.find_first_not_of('0'));
  return number;
}

bool is_near(std::string_view printed, std::string_view expected, double tolerance) {
  constexpr std::string_view kFractionMarks = ".eE";
  if (printed.find_first_of(kFractionMarks) == std::string_view::npos &&
      expected.find_first_of(kFractionMarks) == std::string_view::npos)
    return false;
  std::array<double, 2> values{};
  for (size_t i = 0; i < values.size(); ++i) {
    std::string_view word = i == 0 ? printed : expected;
    if (word.starts_with('+')) word.remove_prefix(1);
    if (std::from_chars(word.begin(), word.end(), values[i]).ec != std::errc()) return false;
  }
  return std::abs(values[0] - values[1]) <= tolerance * std::max(1.0, std::abs(values[1]));
}

bool same_word(std::string_view printed, std::string_view expected, double tolerance) {
  if (printed == expected) return true;
  const auto x = parse_decimal(printed), y = parse_decimal(expected);
  return x && y && (x == y || (tolerance > 0 && is_near(printed, expected, tolerance)));
}

/// Removes and returns the piece before the first of the characters `ends`.
std::string_view next_piece(std::string_view& text, std::string_view ends) {
  const size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

bool same_line(std::string_view a, std::string_view b, double tolerance) {
  while (true) {
    a = stripped_view(a);
    b = stripped_view(b);
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    if (!same_word(next_piece(a, kSpaces), next_piece(b, kSpaces), tolerance)) return false;
  }
}

}  // namespace

bool same_output(std::string_view printed, std::string_view expected, double tolerance) {
  printed = stripped_view(printed);
  expected = stripped_view(expected);
  while (!printed.empty() && !expected.empty())
    if (!same_line(next_piece(printed, "\n"), next_piece(expected, "\n"), tolerance)) return false;
  return printed.empty() && expected.empty();
}

}  // namespace roll
