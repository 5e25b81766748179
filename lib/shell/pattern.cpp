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
  size_t text_at = 0, pattern_at = 0, star_pattern = pattern.npos, star_text = 0;
  while (text_at < text.size()) {
    bool is_same = false;
    if (pattern_at < pattern.size() && pattern[pattern_at] == '*') {
      star_pattern = ++pattern_at;
      star_text = text_at;
      continue;
    }
    const size_t taken = pattern_at < pattern.size() ? take_one(pattern.substr(pattern_at), text[text_at], is_same) : 0;
    if (is_same) {
      pattern_at += taken;
      ++text_at;
    } else if (star_pattern != pattern.npos) {
      pattern_at = star_pattern;
      text_at = ++star_text;
    } else
      return false;
  }
  while (pattern_at < pattern.size() && pattern[pattern_at] == '*') ++pattern_at;
  return pattern_at == pattern.size();
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
