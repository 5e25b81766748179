// Where the characters (code points) of UTF-8 begin. For text that may hold anything: no function here fails.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace roll {

inline bool begins_character(char byte) {
  return (byte & 0xC0) != 0x80;
}

/// The first place at or behind `from` where a character begins; text.size() when there is none.
inline size_t next_character(std::string_view text, size_t from) {
  while (from < text.size() && !begins_character(text[from])) ++from;
  return std::min(from, text.size());
}

inline int64_t num_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), begins_character);
}

/// Bytes of the character at the beginning of `text`, 0 where that is no UTF-8.
size_t character_bytes(std::string_view text);

/// One character of a text.
struct CodePoint {
  char32_t value = 0;
  size_t bytes = 1;
  bool is_sound = false;
};

/// The first of a text that is not empty; a byte that begins none is one by itself.
CodePoint first_code_point(std::string_view text);

/// The longest beginning of at most `max_bytes` bytes that ends within no character.
std::string_view whole_characters(std::string_view text, size_t max_bytes);

}  // namespace roll
