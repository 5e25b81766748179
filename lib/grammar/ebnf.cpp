#include "grammar/ebnf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace roll {

namespace {

std::string digits_between(char low, char high) {
  return low == high ? fmt::format("\"{}\"", low) : fmt::format("[{}-{}]", low, high);
}

std::string any_digits(size_t count) {
  return count == 0 ? "" : fmt::format(" [0-9]{{{}}}", count);
}

void add_alternative(std::string& to, const std::string& alternative) {
  if (!to.empty()) to += " | ";
  to += alternative;
}

/// Returns the digit strings as long as `bound` that are at least (or at most) `bound`.
std::string digits_from_bound(std::string_view bound, bool is_least) {
  if (bound.empty()) return "\"\"";
  if (bound.find_first_not_of(is_least ? '0' : '9') == std::string_view::npos) return any_digits(bound.size());
  std::string grammar =
      fmt::format("{} ({})", digits_between(bound[0], bound[0]), digits_from_bound(bound.substr(1), is_least));
  if (is_least && bound[0] < '9')
    add_alternative(grammar, digits_between(static_cast<char>(bound[0] + 1), '9') + any_digits(bound.size() - 1));
  if (!is_least && bound[0] > '0')
    add_alternative(grammar, digits_between('0', static_cast<char>(bound[0] - 1)) + any_digits(bound.size() - 1));
  return grammar;
}

/// Returns the digit strings from `least` to `most`, which are equally long.
std::string digits_within(std::string_view least, std::string_view most) {
  if (least.empty()) return "\"\"";
  if (least[0] == most[0])
    return fmt::format("{} ({})", digits_between(least[0], least[0]), digits_within(least.substr(1), most.substr(1)));
  std::string grammar =
      fmt::format("{} ({})", digits_between(least[0], least[0]), digits_from_bound(least.substr(1), true));
  if (least[0] + 1 < most[0])
    add_alternative(grammar, digits_between(static_cast<char>(least[0] + 1), static_cast<char>(most[0] - 1)) +
                                 any_digits(least.size() - 1));
  add_alternative(grammar,
                  fmt::format("{} ({})", digits_between(most[0], most[0]), digits_from_bound(most.substr(1), false)));
  return grammar;
}

/// Returns numbers with a point before the last `decimals` digits; the integer part decides which decimals may follow.
std::string decimal_numbers(const std::string& least, const std::string& most, size_t decimals) {
  const size_t whole = least.size() - decimals;
  const std::string_view low = least, high = most;
  const auto with_integer_part = [&](std::string_view number, const std::string& rest) {
    return fmt::format("\"{}.\" ({})", number, rest);
  };
  if (low.substr(0, whole) == high.substr(0, whole))
    return with_integer_part(low.substr(0, whole), digits_within(low.substr(whole), high.substr(whole)));
  std::string grammar = with_integer_part(low.substr(0, whole), digits_from_bound(low.substr(whole), true));
  const int64_t first = std::stoll(least.substr(0, whole)) + 1, last = std::stoll(most.substr(0, whole)) - 1;
  if (first <= last)
    add_alternative(grammar,
                    fmt::format("({}) \".\"{}",
                                digits_within(fmt::format("{:0{}}", first, whole), fmt::format("{:0{}}", last, whole)),
                                any_digits(decimals)));
  add_alternative(grammar, with_integer_part(high.substr(0, whole), digits_from_bound(high.substr(whole), false)));
  return grammar;
}

int64_t power_of_ten(size_t power) {
  int64_t value = 1;
  while (power-- > 0) value *= 10;
  return value;
}

/// Returns the non-negative numbers, with one alternative per number of digits.
std::string non_negative_numbers(int64_t least, int64_t most, size_t decimals) {
  std::string grammar;
  for (size_t digits = decimals + 1; digits <= 18; ++digits) {
    const int64_t low = std::max(least, digits == decimals + 1 ? 0 : power_of_ten(digits - 1));
    const int64_t high = std::min(most, power_of_ten(digits) - 1);
    if (low > high) continue;
    const std::string from = fmt::format("{:0{}}", low, digits), to = fmt::format("{:0{}}", high, digits);
    add_alternative(grammar, decimals == 0 ? digits_within(from, to) : decimal_numbers(from, to, decimals));
  }
  return grammar;
}

std::string numbers_within(int64_t least, int64_t most, size_t decimals) {
  ROLL_CHECK(least <= most && least > -power_of_ten(18) && most < power_of_ten(18), "a range of numbers of 18 digits");
  std::string grammar;
  if (least < 0)
    grammar = fmt::format("\"-\" ({})", non_negative_numbers(std::max<int64_t>(1, -most), -least, decimals));
  if (most >= 0) add_alternative(grammar, non_negative_numbers(std::max<int64_t>(0, least), most, decimals));
  return fmt::format("({})", grammar);
}

constexpr uint32_t kLastCharacter = 0x10FFFF;

}  // namespace

Characters complement(Characters characters) {
  std::ranges::sort(characters);
  Characters other_ranges;
  uint32_t next = 0;
  for (const auto& [first, last] : characters) {
    if (first > next) other_ranges.emplace_back(next, first - 1);
    next = std::max(next, last + 1);
  }
  if (next <= kLastCharacter) other_ranges.emplace_back(next, kLastCharacter);
  return other_ranges;
}

std::string ebnf_plain_characters(const Characters& characters) {
  static const Characters kPlainRanges = {{0x20, 0x21},
                                          {0x23, 0x5B},
                                          {0x5D, 0x7F},
                                          {0x80, 0x7FF},
                                          {0x800, 0xFFF},
                                          {0x1000, 0xCFFF},
                                          {0xD000, 0xD7FF},
                                          {0xE000, 0xFFFF},
                                          {0x10000, 0x3FFFF},
                                          {0x40000, 0xFFFFF},
                                          {0x100000, kLastCharacter}};
  std::string ranges;
  for (const auto& [first, last] : characters)
    for (const auto& [begin, end] : kPlainRanges) {
      const uint32_t low = std::max(first, begin), high = std::min(last, end);
      if (low <= high) ranges += fmt::format("\\U{:08x}-\\U{:08x}", low, high);
    }
  return ranges.empty() ? "" : "[" + ranges + "]";
}

std::string ebnf_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      literal += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      literal += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      literal += c;
  }
  return literal + "\"";
}

std::string ebnf_times(int64_t least, std::optional<int64_t> most) {
  if (!most) return fmt::format("{{{},}}", least);
  return *most == least ? fmt::format("{{{}}}", least) : fmt::format("{{{},{}}}", least, *most);
}

std::string ebnf_integers(int64_t least, int64_t most) {
  return numbers_within(least, most, 0);
}

std::string ebnf_decimals(int64_t least, int64_t most, int decimals) {
  return numbers_within(least, most, static_cast<size_t>(decimals));
}

}  // namespace roll
