// Lists the characters that Unicode gained in 15.0, 15.1 and 16.0, with older ones that a tokenizer treats alike; used
// by unicode.cpp. HF `tokenizers` knows the newer characters, but a Linux distribution's PCRE2 and ICU may not. The
// older character has the same general category, word property and UTF-8 length, and the same script if that is Han,
// Hiragana, Katakana or Hangul.
#pragma once

#include <cstdint>
#include <span>

namespace roll {

/// Newer characters `first` to `last`, both included, and the older character that replaces each.
struct NewerRange {
  char32_t first, last, replacement;
};

/// Newer upper-case letters `first` to `last`, both included.
struct LowercaseRange {
  char32_t first, last;
  int32_t to_lower;  // number to add to a letter's code point to get its lower-case letter
};

/// Returns all newer characters, as sorted, disjoint ranges.
std::span<const NewerRange> newer_ranges();

/// Returns the upper-case letters among the newer characters, as sorted, disjoint ranges.
std::span<const LowercaseRange> newer_lowercase();

}  // namespace roll
