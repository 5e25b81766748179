#include "config/scalar.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <string>

namespace roll {

namespace {

/// Returns `text` in lower case if it is all lower, all UPPER or Capitalised; "" otherwise (tRue).
std::string word(std::string_view text) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto tail = text.empty() ? text : text.substr(1);
  const bool lower_tail = std::none_of(tail.begin(), tail.end(), upper);
  const bool upper_all = std::all_of(text.begin(), text.end(), upper);
  if (!lower_tail && !upper_all) return "";
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

/// Removes each _ between digits; returns "" if a _ is elsewhere.
std::string without_separators(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    const bool between = i > 0 && i + 1 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i - 1])) &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 1]));
    if (!between) return "";
  }
  return digits;
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  const std::string lower = word(text);
  for (const char* yes : {"true", "yes", "on"})
    if (lower == yes) return true;
  for (const char* no : {"false", "no", "off"})
    if (lower == no) return false;
  return std::nullopt;
}

std::optional<int64_t> parse_whole(std::string_view text) {
  const std::string digits = without_separators(text);
  std::string_view rest = digits;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  const int base = rest.starts_with("0x") ? 16 : 10;
  if (base == 16) rest.remove_prefix(2);
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), magnitude, base);
  if (rest.empty() || error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  const uint64_t limit = uint64_t{1} << 63;
  if (magnitude > limit - (negative ? 0 : 1)) return std::nullopt;
  return negative ? static_cast<int64_t>(~magnitude + 1) : static_cast<int64_t>(magnitude);
}

std::optional<double> parse_number(std::string_view text) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  const std::string lower = word(rest);
  if (rest.starts_with('.') && word(rest.substr(1)) == "inf")
    return (negative ? -1 : 1) * std::numeric_limits<double>::infinity();
  if (lower == ".nan" || (rest.starts_with('.') && rest.substr(1) == "NaN"))
    return std::numeric_limits<double>::quiet_NaN();
  if (const auto whole = parse_whole(text)) return static_cast<double>(*whole);
  const std::string digits = without_separators(rest);
  if (digits.find_first_not_of("0123456789.eE+-") != std::string::npos) return std::nullopt;
  if (digits.find_first_of("0123456789") == std::string::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range)  // too small becomes 0, too large infinity
    value = digits.find("e-") != std::string::npos || digits.find("E-") != std::string::npos
                ? 0
                : std::numeric_limits<double>::infinity();
  else if (error != std::errc())
    return std::nullopt;
  return negative ? -value : value;
}

bool is_null_word(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

}  // namespace roll
