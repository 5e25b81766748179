// What rules read and measure in texts. The first functions take any bytes, and white space and letter case are those
// of ASCII; the others take valid UTF-8, and letters, words and white space are Unicode's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

// ---- any bytes

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

/// Without white space at both ends: a view into `text`, and a copy.
std::string_view stripped_view(std::string_view text);
std::string stripped(std::string_view text);

/// Whether both are equal once stripped, with `ignore_case` but for the case of ASCII letters.
bool same_text(std::string_view a, std::string_view b, bool ignore_case);

/// What follows the last `mark`; the whole text where there is none.
std::string_view behind_last(std::string_view text, std::string_view mark);

constexpr std::string_view kThoughtEnd = "</think>";

/// What follows the last </think>, without the newlines at its beginning; the whole response where there is none.
std::string_view after_thinking(std::string_view response);

// ---- valid UTF-8

/// As Python's str.lower: a capital sigma that ends a word becomes a final one.
std::string lower(std::string_view text);
/// Equal for texts that differ by letter case alone.
std::string fold(std::string_view text);

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);
bool is_blank(std::string_view text);

/// The words between white space.
std::vector<std::string_view> words_of(std::string_view text);
/// At least one part; `divider` is not empty.
std::vector<std::string_view> split(std::string_view text, std::string_view divider);

/// Number of characters.
size_t length_of(std::string_view text);

/// Occurrences that do not overlap; of an empty part none.
size_t count_parts(std::string_view text, std::string_view part);
/// Occurrences without a letter, digit or underscore directly before or behind.
size_t count_whole_words(std::string_view text, std::string_view word);

/// Whether there are letters, all of which are upper (lower) case.
bool is_all_uppercase(std::string_view text);
bool is_all_lowercase(std::string_view text);

}  // namespace roll
