// Removes ASCII punctuation from texts, for the checks of AllenAI's and IFBench's instructions. A mark is a character
// of Python's string.punctuation.
#pragma once

#include <string>
#include <string_view>

namespace roll::ifeval {

/// Returns whether the character is a mark.
constexpr bool is_mark(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// Returns a copy without any marks.
inline std::string without_marks(std::string_view text) {
  std::string kept(text);
  std::erase_if(kept, is_mark);
  return kept;
}

/// Returns the text without marks and spaces at its beginning.
inline std::string_view without_first_marks(std::string_view text) {
  while (!text.empty() && (is_mark(text.front()) || text.front() == ' ')) text.remove_prefix(1);
  return text;
}

/// Returns the text without marks and spaces at its end.
inline std::string_view without_last_marks(std::string_view text) {
  while (!text.empty() && (is_mark(text.back()) || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

/// Returns the text without marks and spaces at both ends.
inline std::string_view between_marks(std::string_view text) {
  return without_first_marks(without_last_marks(text));
}

}  // namespace roll::ifeval
