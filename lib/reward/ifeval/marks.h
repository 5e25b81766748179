// ASCII punctuation, which AllenAI's checks strip from words.
#pragma once

#include <string>
#include <string_view>

namespace roll::ifeval {

/// Returns whether the character is in Python's string.punctuation.
constexpr bool is_mark(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

inline std::string without_marks(std::string_view text) {
  std::string kept(text);
  std::erase_if(kept, is_mark);
  return kept;
}

inline std::string_view without_first_marks(std::string_view text) {
  while (!text.empty() && (is_mark(text.front()) || text.front() == ' ')) text.remove_prefix(1);
  return text;
}

inline std::string_view without_last_marks(std::string_view text) {
  while (!text.empty() && (is_mark(text.back()) || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

/// Returns the text without marks and blanks at both ends.
inline std::string_view between_marks(std::string_view text) {
  return without_first_marks(without_last_marks(text));
}

}  // namespace roll::ifeval
