// What rules count in a response. Texts are valid UTF-8; letters, words and white space are Unicode's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// As Python's str.lower: a capital sigma that ends a word becomes a final one.
std::string lower(std::string_view text);
/// Equal for texts that differ by letter case alone.
std::string fold(std::string_view text);

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);
bool is_blank(std::string_view text);

/// What stands between white space.
std::vector<std::string_view> words_of(std::string_view text);
/// At least one part; `divider` is not empty.
std::vector<std::string_view> split(std::string_view text, std::string_view divider);

/// Number of characters.
size_t length_of(std::string_view text);

/// Occurrences that do not overlap; of an empty part none.
size_t count_parts(std::string_view text, std::string_view part);
/// Those that no letter, digit or underscore stands directly before or behind.
size_t count_whole_words(std::string_view text, std::string_view word);

/// Whether there are letters, all of which are upper (lower) case.
bool is_all_uppercase(std::string_view text);
bool is_all_lowercase(std::string_view text);

}  // namespace roll
