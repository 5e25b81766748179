#include "shell/pattern.h"

namespace roll::shell {

namespace {

/// Returns the length of the pattern element at the front; `is_same` tells whether it matches `c`.
size_t take_one(std::string_view pattern, char c, bool& is_same) {
  if (pattern[0] == '\\' && pattern.size() > 1) return is_same = pattern[1] == c, 2;
  const size_t close = pattern[0] == '[' ? pattern.find(']', 2) : pattern.npos;
  if (close == pattern.npos) return is_same = pattern[0] == '?' || pattern[0] == c, 1;
  const bool negates = pattern[1] == '!' || pattern[1] == '^';
  bool found = false;
  for (size_t i = negates ? 2 : 1; i < close; ++i) {
    const bool is_range = i + 2 < close && pattern[i + 1] == '-';
    found = found || (is_range ? pattern[i] <= c && c <= pattern[i + 2] : pattern[i] == c);
    if (is_range) i += 2;
  }
  return is_same = found != negates, close + 1;
}

}  // namespace

bool matches_pattern(std::string_view text, std::string_view pattern) {
  size_t at = 0, in = 0, star = pattern.npos, from = 0;
  while (at < text.size()) {
    bool is_same = false;
    if (in < pattern.size() && pattern[in] == '*') {
      star = ++in;
      from = at;
      continue;
    }
    const size_t taken = in < pattern.size() ? take_one(pattern.substr(in), text[at], is_same) : 0;
    if (is_same) {
      in += taken;
      ++at;
    } else if (star != pattern.npos) {
      in = star;
      at = ++from;
    } else
      return false;
  }
  while (in < pattern.size() && pattern[in] == '*') ++in;
  return in == pattern.size();
}

std::string as_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace roll::shell
