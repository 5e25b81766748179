#include "base/utf8.h"

namespace roll {

size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto size_if_continued = [&](size_t n) {
    for (size_t i = 1; i < n; ++i)
      if ((byte(i) & 0xC0) != 0x80) return size_t{0};
    return n;
  };
  const unsigned b = byte(0);
  if (b < 0x80) return text.empty() ? 0 : 1;
  if (b >= 0xC2 && b < 0xE0) return size_if_continued(2);
  const bool is_longer_than_needed = (b == 0xE0 && byte(1) < 0xA0) || (b == 0xF0 && byte(1) < 0x90);
  const bool is_no_character =
      (b == 0xED && byte(1) >= 0xA0) || (b == 0xF4 && byte(1) >= 0x90);  // surrogates; above U+10FFFF
  if (is_longer_than_needed || is_no_character) return 0;
  if (b >= 0xE0 && b < 0xF0) return size_if_continued(3);
  if (b >= 0xF0 && b < 0xF5) return size_if_continued(4);
  return 0;
}

CodePoint first_code_point(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t bytes = character_bytes(text);
  if (bytes == 0) return {};
  if (bytes == 1) return {lead, 1, true};
  char32_t value = lead & (0x7F >> bytes);
  for (size_t i = 1; i < bytes; ++i) value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  return {value, bytes, true};
}

std::string_view whole_characters(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && !begins_character(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace roll
