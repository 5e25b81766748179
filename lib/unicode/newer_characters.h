// Maps characters that Unicode gained in 15.0, 15.1 and 16.0 to older ones that a tokenizer treats alike, for
// unicode.h: HF `tokenizers` knows the new characters, but a Linux distribution's PCRE2 and ICU may not. The older
// character has the same general category, word property and UTF-8 length, and the same script if that is Han,
// Hiragana, Katakana or Hangul.
#pragma once

#include <cstdint>
#include <span>

namespace roll {

/// Newer characters `first` to `last`, both included, and the older one that replaces every one in the range.
struct NewerRange {
  char32_t first, last, replacement;
};

/// Upper-case letters `first` to `last`, both included.
struct LowercaseRange {
  char32_t first, last;
  int32_t to_lower;  // number to add to a letter's code point to get its lower-case letter
};

/// Returns all newer characters, as sorted, disjoint ranges.
std::span<const NewerRange> newer_ranges();

/// Returns the upper-case letters among the newer characters, as sorted, disjoint ranges.
std::span<const LowercaseRange> newer_lowercase();

}  // namespace roll
