#include "reward/same_text.h"

#include <algorithm>

namespace roll {

std::string stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

bool same_text(std::string_view a, std::string_view b, bool ignore_case) {
  const std::string left = stripped(a), right = stripped(b);
  return ignore_case ? std::ranges::equal(left, right, {}, ascii_lower, ascii_lower) : left == right;
}

}  // namespace roll
