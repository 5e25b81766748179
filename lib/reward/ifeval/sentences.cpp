#include "reward/ifeval/sentences.h"

#include <algorithm>
#include <array>
#include <string>

#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

namespace {

constexpr std::u32string_view kStops = U".?!\u2026", kFullWidthStops = U"\u3002\uFF1F\uFF01\u0964";
constexpr std::u32string_view kClosers = U"\"')]}*_\u201D\u2019\u00BB\u300D";
constexpr auto kAbbreviations = std::to_array<std::string_view>(
    {"mr", "mrs", "ms", "dr", "st", "prof", "capt", "lt", "sr", "jr", "vs", "inc", "ltd", "co", "ph.d"});

bool is_one_of(std::u32string_view set, char32_t c) {
  return set.find(c) != std::u32string_view::npos;
}

/// "Mr", "J", "U.S", "e.g": what a period follows without ending a sentence.
bool is_abbreviation(std::string_view word) {
  const std::string lowered = lower(word);
  if (std::ranges::find(kAbbreviations, lowered) != kAbbreviations.end()) return true;
  for (const std::string_view part : split(lowered, "."))
    if (length_of(part) != 1 || part[0] < 'a' || part[0] > 'z') return false;
  return true;
}

std::string_view last_word(std::string_view text) {
  size_t begin = text.size();
  for (size_t next = begin; begin > 0; begin = next) {
    const char32_t c = previous_code_point(text, next);
    if (is_white_space(c) || is_one_of(U"\"'([{*_\u201C\u2018\u00AB", c)) break;
  }
  return text.substr(begin);
}

bool holds_word(std::string_view text) {
  for (size_t pos = 0; pos < text.size();)
    if (is_word(next_code_point(text, pos))) return true;
  return false;
}

size_t skip(std::string_view text, size_t pos, std::u32string_view set) {
  for (size_t next = pos; pos < text.size() && is_one_of(set, next_code_point(text, next));) pos = next;
  return pos;
}

}  // namespace

int64_t count_sentences(std::string_view text) {
  text = trimmed(text);
  int64_t count = 0;
  size_t begin = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t stop = pos;
    const char32_t c = next_code_point(text, pos);
    const bool is_full_width = is_one_of(kFullWidthStops, c);
    if (!is_full_width && !is_one_of(kStops, c)) continue;
    const size_t run_end = skip(text, pos, is_full_width ? kFullWidthStops : kStops);
    pos = skip(text, run_end, kClosers);
    size_t next = pos;
    const bool is_last = pos == text.size();
    if (!is_last && !is_full_width && !is_white_space(next_code_point(text, next))) continue;
    const bool is_single_period = c == U'.' && run_end == stop + 1;
    if (!is_last && is_single_period && is_abbreviation(last_word(text.substr(begin, stop - begin)))) continue;
    count += holds_word(text.substr(begin, stop - begin));  // not so the "..." of "... and so on"
    begin = pos;
  }
  return count + holds_word(text.substr(begin));
}

}  // namespace roll::ifeval
