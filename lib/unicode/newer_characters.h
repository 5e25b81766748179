// Characters that Unicode gained in 15.0, 15.1 and 16.0. HF `tokenizers` knows them; the PCRE2 and ICU of a Linux
// distribution may not. Each stands beside an older character of the same kind (general category, word character,
// number of UTF-8 bytes, and Han, Hiragana, Katakana or Hangul script), which any library classifies as the newer one
// should be.
#pragma once

#include <cstdint>
#include <span>

namespace roll {

struct NewerRange {
  char32_t first, last, like;
};

struct LowercaseRange {
  char32_t first, last;
  int32_t to_lower;  // added to a character of the range
};

/// Sorted, disjoint.
std::span<const NewerRange> newer_ranges();

/// Upper-case letters among them, sorted.
std::span<const LowercaseRange> newer_lowercase();

}  // namespace roll
