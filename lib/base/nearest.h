// Suggests the known word that a mistyped one most likely meant, for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Returns the candidate with the smallest edit distance to `word` (insertions, deletions, replacements, swaps of
/// neighbours), ignoring case; of equally near ones the first. Returns "" if that distance is above the limit: for
/// words of 5 letters or more, a third of the longer word, but at least 2; for shorter words, a third of the word.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Returns "; did you mean 'x'?" with nearest(); "" if there is none.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// Returns `text` with the letters A to Z in lower case; other bytes stay.
std::string lower_ascii(std::string_view text);

}  // namespace roll
