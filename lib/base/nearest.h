// Suggests the known word that a mistyped one most likely meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Returns the candidate with the smallest Damerau-Levenshtein distance, ignoring case (ties: the earlier one). Returns
/// "" when even that is too far for a typing error: more than a third of the longer word, at least 2 (1 for words of
/// three or four letters).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Returns "; did you mean 'x'?", or "" when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// Returns `text` with the letters A..Z as a..z; other bytes stay.
std::string lower_ascii(std::string_view text);

}  // namespace roll
