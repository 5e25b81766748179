// Finds characters (code points) in text that may be invalid UTF-8; no function here fails.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace roll {

inline bool begins_character(char byte) {
  return (byte & 0xC0) != 0x80;
}

/// Returns the first position at or after `from` where a character begins; text.size() if there is none.
inline size_t next_character(std::string_view text, size_t from) {
  while (from < text.size() && !begins_character(text[from])) ++from;
  return std::min(from, text.size());
}

inline int64_t num_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), begins_character);
}

/// Returns the bytes of the character at the start of `text`; 0 if it is invalid UTF-8.
size_t character_bytes(std::string_view text);

/// One character of a text.
struct CodePoint {
  char32_t value = 0;
  size_t bytes = 1;
  bool is_sound = false;
};

/// Returns the first code point of a non-empty text; a byte that begins no character counts as one by itself.
CodePoint first_code_point(std::string_view text);

/// Returns the longest prefix of at most `max_bytes` bytes that does not split a character.
std::string_view whole_characters(std::string_view text, size_t max_bytes);

}  // namespace roll
