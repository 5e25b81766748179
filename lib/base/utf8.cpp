#include "base/utf8.h"

namespace roll {

std::string_view whole_characters(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && !begins_character(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace roll
