#include "reward/repetition.h"

#include <set>
#include <string>
#include <vector>

#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll {

double repeated_share(std::string_view text, int64_t ngram_size) {
  const std::string lowered = lower(to_valid_utf8(text));
  const std::vector<std::string_view> words = split_words(lowered);
  if (std::ssize(words) < ngram_size) return 0;
  const auto total = std::ssize(words) - ngram_size + 1;
  // n-grams are compared by their words alone, not by the white space between them.
  std::set<std::vector<std::string_view>> different;
  for (std::ptrdiff_t i = 0; i < total; ++i) different.emplace(words.begin() + i, words.begin() + i + ngram_size);
  return 1 - static_cast<double>(different.size()) / static_cast<double>(total);
}

}  // namespace roll
