// Text functions for reward types. The functions of the first part take any bytes, and know only ASCII white space and
// letters. The functions of the second part take valid UTF-8, and know Unicode's letters, words and white space.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

// ---- any bytes

/// Returns an ASCII capital as a small letter, any other byte unchanged.
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

/// Return the text without white space at both ends, as a view into `text` and as a copy.
std::string_view stripped_view(std::string_view text);
std::string stripped(std::string_view text);

/// Returns whether both texts are equal, apart from white space at both ends. `ignore_case`: also apart from the case
/// of ASCII letters.
bool same_text(std::string_view a, std::string_view b, bool ignore_case);

/// Returns the part of `text` after its last `mark`; the whole text if it has no `mark`.
std::string_view behind_last(std::string_view text, std::string_view mark);

constexpr std::string_view kThoughtEnd = "</think>";

/// Returns the text after the last </think>, without leading newlines; the whole response if there is none.
std::string_view after_thinking(std::string_view response);

// ---- valid UTF-8

/// Lower-cases like Python's str.lower: a capital sigma at the end of a word becomes a final one.
std::string lower(std::string_view text);
/// Case-folds the text: texts that differ only in letter case have equal results, also where lower() differs.
std::string fold(std::string_view text);

/// Returns the text without white space at both ends, as a view into `text`.
std::string_view trimmed(std::string_view text);
/// Returns whether the text is empty or white space.
bool is_blank(std::string_view text);

/// Returns the words of the text, which white space separates, as views into `text`; none is empty.
std::vector<std::string_view> split_words(std::string_view text);
/// Splits the text at each `divider`, which must not be empty. Returns views into `text`: at least one; any may be
/// empty.
std::vector<std::string_view> split(std::string_view text, std::string_view divider);

/// Returns the number of code points.
size_t count_characters(std::string_view text);

/// Returns the number of non-overlapping occurrences of `part`; 0 for an empty part.
size_t count_parts(std::string_view text, std::string_view part);
/// Returns the number of occurrences of `word` that have no letter, digit or underscore directly before or after them.
size_t count_whole_words(std::string_view text, std::string_view word);

/// Return whether the text has letters with case, and all of these are upper case (lower case).
bool is_all_uppercase(std::string_view text);
bool is_all_lowercase(std::string_view text);

}  // namespace roll
