#include "reward/math/number_text.h"

#include <algorithm>
#include <cctype>

namespace roll::math {

namespace {

constexpr std::string_view kDigits = "0123456789";

bool digit(std::string_view s, size_t at) {
  return at < s.size() && s[at] >= '0' && s[at] <= '9';
}

size_t count_digits(std::string_view s) {
  return std::min(s.find_first_not_of(kDigits), s.size());
}

/// Returns the digits of "\name{123}" or "\name 1"; `length` becomes the number of bytes read.
std::string marked_digits(std::string_view s, std::string_view name, size_t& length) {
  length = 0;
  if (!s.starts_with(name)) return "";
  size_t at = name.size();
  while (at < s.size() && s[at] == ' ') ++at;
  const bool is_braced = at < s.size() && s[at] == '{';
  at += is_braced;
  const size_t n = is_braced ? count_digits(s.substr(at)) : digit(s, at) && at > name.size() ? 1 : 0;
  if (n == 0 || n > 30 || (is_braced && s.substr(at + n, 1) != "}")) return "";
  length = at + n + is_braced;
  return std::string(s.substr(at, n));
}

/// Returns the digits of "\dot{1}4285\dot{7}" or "\dot{3}".
std::string dotted_digits(std::string_view s, size_t& length) {
  std::string digits = marked_digits(s, "\\dot", length);
  if (digits.empty()) return "";
  const size_t between = count_digits(s.substr(length));
  size_t last_length = 0;
  const std::string last = marked_digits(s.substr(length + between), "\\dot", last_length);
  if (last.empty()) {
    if (between > 0) length = 0;
    return between == 0 ? digits : "";
  }
  digits += s.substr(length, between);
  length += between + last_length;
  return digits + last;
}

/// Returns the length of "...", "\ldots" or the ellipsis character; 0 if there is none.
size_t ellipsis_length(std::string_view s) {
  for (const std::string_view dots : {"...", "\\ldots", "\\dots", "\\cdots", "\u2026"})
    if (s.starts_with(dots)) return dots.size();
  return 0;
}

/// Returns how many digits at the end of `decimals` repeat the shortest period. It must occur at least twice, a single
/// digit three times.
size_t repeated_tail(std::string_view decimals, size_t& period) {
  for (period = 1; period <= decimals.size() / 2; ++period) {
    size_t n = period;
    while (n < decimals.size() && decimals[decimals.size() - n - 1] == decimals[decimals.size() - n - 1 + period]) ++n;
    if (n >= (period == 1 ? 3 : 2 * period)) return n;
  }
  return 0;
}

Period behind_ellipsis(std::string_view number, size_t length) {
  const size_t point = number.find('.');
  if (point == std::string_view::npos) return {};
  size_t period = 0;
  const size_t tail = repeated_tail(number.substr(point + 1), period);
  if (tail == 0) return {.length = length};
  const size_t begin = number.size() - tail;
  return {.length = length, .begin = begin, .digits = std::string(number.substr(begin, period))};
}

/// Returns the length of "am", "P.M." or "\text{ pm}" after a time, with the space before it; 0 if there is none.
size_t half_of_day(std::string_view s) {
  size_t at = 0;
  while (at < s.size() && (s[at] == ' ' || s[at] == '~')) ++at;
  bool is_braced = false;
  for (const std::string_view words : {"\\text{", "\\mathrm{", "\\textrm{"})
    if (s.substr(at).starts_with(words)) {
      at += words.size();
      is_braced = true;
    }
  while (at < s.size() && (s[at] == ' ' || s[at] == '~')) ++at;
  const auto letter = [&](size_t i) { return i < s.size() ? std::tolower(static_cast<unsigned char>(s[i])) : 0; };
  if (letter(at) != 'a' && letter(at) != 'p') return 0;
  at += 1 + (s.substr(at + 1, 1) == ".");
  if (letter(at) != 'm' || std::isalpha(letter(at + 1)) != 0) return 0;
  at += 1 + (s.substr(at + 1, 1) == ".");
  return is_braced ? (s.substr(at, 1) == "}" ? at + 1 : 0) : at;
}

size_t date_length(std::string_view s) {
  constexpr std::string_view kForm = "0000-00-00";
  if (s.size() < kForm.size() || digit(s, kForm.size())) return 0;
  for (size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == '-' ? s[i] != '-' : !digit(s, i)) return 0;
  return kForm.size();
}

}  // namespace

Period period_at(std::string_view rest, std::string_view number) {
  if (number.find('.') != std::string_view::npos)
    if (const size_t dots = ellipsis_length(rest)) return behind_ellipsis(number, dots);
  const bool is_pointed = rest.starts_with('.');
  if (is_pointed == (number.find('.') != std::string_view::npos)) return {};
  const std::string_view marked = rest.substr(is_pointed);
  size_t length = 0;
  std::string digits;
  for (const std::string_view name : {"\\overline", "\\bar"})
    if (digits.empty()) digits = marked_digits(marked, name, length);
  if (digits.empty()) digits = dotted_digits(marked, length);
  if (digits.empty() && is_pointed && marked.starts_with('(')) {
    const size_t n = count_digits(marked.substr(1));
    if (n > 0 && n <= 30 && marked.substr(n + 1, 1) == ")") {
      digits = marked.substr(1, n);
      length = n + 2;
    }
  }
  if (digits.empty()) return {};
  return {.length = length + is_pointed, .begin = number.size(), .digits = digits};
}

size_t time_or_date_length(std::string_view text, bool may_be_date) {
  if (const size_t n = may_be_date ? date_length(text) : 0) return n;
  const size_t hours = count_digits(text);
  if (hours == 0 || hours > 2 || text.substr(hours, 1) != ":" || count_digits(text.substr(hours + 1)) != 2) return 0;
  const size_t end = hours + 3;
  if (text[hours + 1] > '5' || text.substr(end, 1) == ":") return 0;
  const size_t half = half_of_day(text.substr(end));
  return half > 0 || text[hours + 1] == '0' ? end + half : 0;
}

std::string plain_time(std::string_view text) {
  std::string words;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\')
      at = std::min(text.find('{', at), text.size());
    else if (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == ':' || text[at] == '-')
      words += static_cast<char>(std::tolower(static_cast<unsigned char>(text[at])));
  }
  return words;
}

}  // namespace roll::math
