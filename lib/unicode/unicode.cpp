#include "unicode/unicode.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstring>

#include "unicode/newer_characters.h"

namespace roll {

namespace {

constexpr uint64_t kHighBits = 0x8080808080808080;

/// Returns the index of the first non-ASCII byte at or after `pos`.
size_t skip_ascii(std::string_view text, size_t pos) {
  for (uint64_t word; pos + sizeof(word) <= text.size(); pos += sizeof(word)) {
    std::memcpy(&word, text.data() + pos, sizeof(word));
    if (word & kHighBits) break;
  }
  while (pos < text.size() && static_cast<unsigned char>(text[pos]) < 0x80) ++pos;
  return pos;
}

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

struct Sequence {
  size_t length;  // bytes of a whole character, or the maximal part of an invalid one
  bool valid;
};

/// Returns the sequence at `pos` (a byte >= 0x80). By table 3-7 of the Unicode standard only the second byte's range
/// varies.
Sequence sequence_at(std::string_view s, size_t pos) {
  const auto byte = [&](size_t i) { return pos + i < s.size() ? static_cast<unsigned char>(s[pos + i]) : 0; };
  const unsigned char lead = byte(0);
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const size_t need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return {1, false};
  for (size_t i = 2; i < need; ++i)
    if (!is_continuation(byte(i))) return {i, false};
  return {need, true};
}

template <class Range>
const Range* find_range(std::span<const Range> ranges, char32_t c) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), c, [](char32_t x, const Range& r) { return x < r.first; });
  return after != ranges.begin() && c <= (after - 1)->last ? &*(after - 1) : nullptr;
}

}  // namespace

size_t valid_utf8_prefix(std::string_view bytes) {
  for (size_t pos = 0;;) {
    pos = skip_ascii(bytes, pos);
    if (pos == bytes.size()) return pos;
    const Sequence sequence = sequence_at(bytes, pos);
    if (!sequence.valid) return pos;
    pos += sequence.length;
  }
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (;;) {
    const size_t num_valid_bytes = valid_utf8_prefix(bytes);
    out.append(bytes.substr(0, num_valid_bytes));
    if (num_valid_bytes == bytes.size()) return out;
    out.append("\uFFFD");
    bytes.remove_prefix(num_valid_bytes + sequence_at(bytes, num_valid_bytes).length);
  }
}

char32_t next_code_point(std::string_view text, size_t& pos) {
  UChar32 c = 0;
  U8_NEXT_UNSAFE(text.data(), pos, c);
  return static_cast<char32_t>(c);
}

char32_t previous_code_point(std::string_view text, size_t& pos) {
  UChar32 c = 0;
  U8_PREV_UNSAFE(text.data(), pos, c);
  return static_cast<char32_t>(c);
}

void append_utf8(std::string& out, char32_t c) {
  char bytes[4];
  size_t n = 0;
  U8_APPEND_UNSAFE(bytes, n, static_cast<uint32_t>(c));
  out.append(bytes, n);
}

bool is_ascii(std::string_view text) {
  return skip_ascii(text, 0) == text.size();
}

char32_t older_character(char32_t c) {
  if (c < newer_ranges().front().first) return c;
  const NewerRange* range = find_range(newer_ranges(), c);
  return range ? range->replacement : c;
}

bool with_older_characters(std::string_view text, std::string& out) {
  bool changed = false;
  for (size_t pos = 0; (pos = skip_ascii(text, pos)) < text.size();) {
    const size_t start = pos;
    const char32_t c = next_code_point(text, pos);
    const char32_t older = older_character(c);
    if (older == c) continue;
    if (!changed) out.assign(text);
    changed = true;
    size_t n = start;
    U8_APPEND_UNSAFE(out.data(), n, static_cast<uint32_t>(older));
  }
  return changed;
}

bool is_white_space(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_WHITE_SPACE);
}

bool is_word(char32_t c) {
  const auto older = static_cast<UChar32>(older_character(c));
  constexpr uint32_t kCategories = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return u_hasBinaryProperty(older, UCHAR_ALPHABETIC) || (U_MASK(u_charType(older)) & kCategories) != 0 ||
         u_hasBinaryProperty(older, UCHAR_JOIN_CONTROL);
}

bool is_numeric(char32_t c) {
  return (U_MASK(u_charType(static_cast<UChar32>(older_character(c)))) & U_GC_N_MASK) != 0;
}

bool is_decimal_digit(char32_t c) {
  return u_isdigit(static_cast<UChar32>(older_character(c)));
}

bool is_uppercase(char32_t c) {
  return u_isUUppercase(static_cast<UChar32>(older_character(c)));
}

bool is_lowercase(char32_t c) {
  const auto older = static_cast<UChar32>(older_character(c));
  return u_isULowercase(older) || u_charType(older) == U_TITLECASE_LETTER;
}

void append_lowercase(std::string& out, char32_t c) {
  if (const LowercaseRange* range = find_range(newer_lowercase(), c))
    return append_utf8(out, static_cast<char32_t>(static_cast<int32_t>(c) + range->to_lower));
  icu::UnicodeString(static_cast<UChar32>(c)).toLower(icu::Locale::getRoot()).toUTF8String(out);
}

bool is_final_sigma(std::string_view text, size_t begin, size_t end) {
  const auto is_ignored = [](char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_CASE_IGNORABLE); };
  const auto is_cased = [](char32_t c) {
    return u_hasBinaryProperty(static_cast<UChar32>(older_character(c)), UCHAR_CASED);
  };
  char32_t previous = 0, next = 0;
  for (size_t pos = begin; pos > 0 && (previous == 0 || is_ignored(previous));)
    previous = previous_code_point(text, pos);
  for (size_t pos = end; pos < text.size() && (next == 0 || is_ignored(next));) next = next_code_point(text, pos);
  return is_cased(previous) && !is_cased(next);
}

char32_t folded(char32_t c) {
  if (const LowercaseRange* range = find_range(newer_lowercase(), c))
    return static_cast<char32_t>(static_cast<int32_t>(c) + range->to_lower);
  return static_cast<char32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT));
}

}  // namespace roll
