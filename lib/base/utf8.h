// Finds characters (Unicode code points) in text that may be invalid UTF-8. No function here throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace roll {

/// Returns true unless the byte continues a UTF-8 character (10xxxxxx).
inline bool begins_character(char byte) {
  return (byte & 0xC0) != 0x80;
}

/// Returns the first position at or after `from` where a character begins; text.size() if there is none.
inline size_t next_character(std::string_view text, size_t from) {
  while (from < text.size() && !begins_character(text[from])) ++from;
  return std::min(from, text.size());
}

/// Returns the number of characters: of bytes that do not continue one.
inline int64_t num_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), begins_character);
}

/// Returns the length in bytes (1 to 4) of the character at the start of `text`; 0 if `text` is empty or begins with
/// invalid UTF-8.
size_t character_bytes(std::string_view text);

/// One character of a text.
struct CodePoint {
  char32_t value = 0;     // 0 if invalid
  size_t bytes = 1;       // length in the text; 1 if invalid
  bool is_sound = false;  // false: the byte begins no valid UTF-8 character
};

/// Returns the first code point of `text`, which must not be empty; an invalid byte counts as a code point by itself.
CodePoint first_code_point(std::string_view text);

/// Returns the longest prefix of at most `max_bytes` bytes that does not split a character.
std::string_view whole_characters(std::string_view text, size_t max_bytes);

}  // namespace roll
