// Trims text.
#pragma once

#include <string_view>

namespace roll {

/// Returns the part of `text` between leading and trailing blanks, tabs and line ends.
inline std::string_view trimmed_text(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace roll
