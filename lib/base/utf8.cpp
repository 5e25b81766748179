#include "base/utf8.h"

#include <fmt/format.h>

namespace roll {

size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](size_t n) {
    for (size_t i = 1; i < n; ++i)
      if ((byte(i) & 0xC0) != 0x80) return size_t{0};
    return n;
  };
  const unsigned b = byte(0);
  if (b < 0x80) return text.empty() ? 0 : 1;
  if (b >= 0xC2 && b < 0xE0) return tail(2);
  if (b >= 0xE0 && b < 0xF0) return b == 0xE0 && byte(1) < 0xA0 ? 0 : tail(3);
  if (b >= 0xF0 && b < 0xF5) return b == 0xF0 && byte(1) < 0x90 ? 0 : tail(4);
  return 0;
}

namespace {

bool is_harmful(std::string_view character) {
  const char c = character[0];
  if (character.size() == 1) return (c < ' ' && c != '\n' && c != '\t') || c == 0x7F;
  if (character.size() == 2) return character < "\u00a0";  // control characters again
  return (character >= "\u2028" && character <= "\u202e") || (character >= "\u2066" && character <= "\u2069");
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string harmless;
  for (size_t at = 0, n = 0; at < text.size(); at += n) {
    n = std::max<size_t>(character_bytes(text.substr(at)), 1);
    const std::string_view character = text.substr(at, n);
    if (character_bytes(character) > 0 && !is_harmful(character)) {
      harmless += character;
      continue;
    }
    for (const char byte : character) harmless += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return harmless;
}

std::string_view whole_characters(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && !begins_character(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace roll
