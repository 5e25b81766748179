// Reads and writes UTF-8, and classifies characters as Hugging Face's tokenizers do, by Unicode 16. Used by tokenizers,
// Jinja and rewards. Arguments named `text` must be valid UTF-8, which is not checked; positions are in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

/// Returns the length in bytes of the longest prefix that is valid UTF-8 (without surrogates and overlong forms).
size_t valid_utf8_prefix(std::string_view bytes);

/// Returns `bytes` with each maximal invalid part replaced by one U+FFFD (the Unicode standard's recommended practice).
std::string to_valid_utf8(std::string_view bytes);

/// Returns the code point that begins at byte `pos`, which must be below text.size(), and moves `pos` behind it.
char32_t next_code_point(std::string_view text, size_t& pos);

/// Returns the code point whose last byte is at pos - 1 (pos > 0), and moves `pos` to its first byte.
char32_t previous_code_point(std::string_view text, size_t& pos);

/// Appends the UTF-8 form of a code point.
void append_utf8(std::string& out, char32_t c);

/// Returns true if every byte of `text`, which may be any bytes, is below 128.
bool is_ascii(std::string_view text);

/// For a character newer than Unicode 14, returns an older one of the same kind (newer_characters.h); returns others
/// unchanged.
char32_t older_character(char32_t c);

/// Applies older_character() to each character of `text`. If that changes any, sets `out` to the result, where all
/// characters have the same positions, and returns true. Otherwise, nearly always, returns false and leaves `out` as it
/// is.
bool with_older_characters(std::string_view text, std::string& out);

bool is_white_space(char32_t c);    // property White_Space
bool is_word(char32_t c);           // Alphabetic, mark, decimal number, connector punctuation, join control
bool is_numeric(char32_t c);        // general category N*
bool is_decimal_digit(char32_t c);  // general category Nd: 7 and ٧, not ⑦ or ½
bool is_uppercase(char32_t c);      // property Uppercase
bool is_lowercase(char32_t c);      // property Lowercase, or title case

/// Appends the full lower-case mapping of one character to `out`, as UTF-8. It ignores the neighbours: a capital sigma
/// at the end of a word becomes σ, not ς; the caller asks is_final_sigma().
void append_lowercase(std::string& out, char32_t c);

/// Returns true if the capital sigma at the bytes [begin, end) of `text` ends its word, so that its lower case is a
/// final sigma, ς. That is Unicode's condition Final_Sigma: a cased letter before it and none after it, where marks and
/// apostrophes are skipped.
bool is_final_sigma(std::string_view text, size_t begin, size_t end);

/// Returns the simple case folding of a character: the same code point for characters that differ only by case, such as
/// Σ, σ and ς.
char32_t folded(char32_t c);

}  // namespace roll
