// The known word that a mistyped one most likely meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// The candidate with the smallest Damerau-Levenshtein distance (ties: the earlier one; case does not count), or ""
/// when even that one is too far off to be a typing error (more than a third of the longer word, at least 2; 1 in words
/// of three or four letters).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" or "" when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// `text` with the letters A..Z as a..z; other bytes stay.
std::string lower_ascii(std::string_view text);

}  // namespace roll
