// Maps characters that Unicode gained in 15.0, 15.1 and 16.0 to older ones, for unicode.h. HF `tokenizers` knows the
// new characters; a Linux distribution's PCRE2 and ICU may not. The older character has the same general category, word
// property, UTF-8 length, and script if that is Han, Hiragana, Katakana or Hangul.
#pragma once

#include <cstdint>
#include <span>

namespace roll {

struct NewerRange {
  char32_t first, last, replacement;
};

struct LowercaseRange {
  char32_t first, last;
  int32_t to_lower;  // added to a character of the range
};

/// Returns sorted, disjoint ranges.
std::span<const NewerRange> newer_ranges();

/// Returns the upper-case letters among them, sorted.
std::span<const LowercaseRange> newer_lowercase();

}  // namespace roll
