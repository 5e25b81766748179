// Text functions for reward rules. The first part takes any bytes, with ASCII white space and letter case. The second
// takes valid UTF-8, with Unicode's letters, words and white space.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

// ---- any bytes

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

/// Return the text without white space at both ends, as a view into `text` or a copy.
std::string_view stripped_view(std::string_view text);
std::string stripped(std::string_view text);

/// Returns whether both are equal once stripped; `ignore_case` ignores the case of ASCII letters.
bool same_text(std::string_view a, std::string_view b, bool ignore_case);

/// Returns the text after the last `mark`; the whole text if there is none.
std::string_view behind_last(std::string_view text, std::string_view mark);

constexpr std::string_view kThoughtEnd = "</think>";

/// Returns the text after the last </think>, without leading newlines; the whole response if there is none.
std::string_view after_thinking(std::string_view response);

// ---- valid UTF-8

/// Lower-cases like Python's str.lower: a capital sigma at the end of a word becomes a final one.
std::string lower(std::string_view text);
/// Case-folds the text: results are equal for texts that differ in letter case only.
std::string fold(std::string_view text);

/// Returns the text without white space at both ends.
std::string_view trimmed(std::string_view text);
bool is_blank(std::string_view text);

/// Returns the words between white space.
std::vector<std::string_view> split_words(std::string_view text);
/// Splits at `divider`, which is not empty; returns at least one part.
std::vector<std::string_view> split(std::string_view text, std::string_view divider);

/// Returns the number of code points.
size_t count_characters(std::string_view text);

/// Counts non-overlapping occurrences; 0 for an empty part.
size_t count_parts(std::string_view text, std::string_view part);
/// Counts occurrences without a letter, digit or underscore directly before or after.
size_t count_whole_words(std::string_view text, std::string_view word);

/// Return whether the text has letters, and all are upper (lower) case.
bool is_all_uppercase(std::string_view text);
bool is_all_lowercase(std::string_view text);

}  // namespace roll
