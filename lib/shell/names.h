// Character classes for blanks and names, shared by the shell and Python readers.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace roll::shell {

/// Returns true for blanks within a line, not for '\n'.
inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
inline bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}
/// Returns true for a variable's name: letters, digits and underscores, not beginning with a digit.
inline bool is_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) && std::ranges::all_of(text, is_name_char);
}

}  // namespace roll::shell
