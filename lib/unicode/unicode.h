// UTF-8 and the character classes that Hugging Face's tokenizers use, as Unicode 16 defines them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

/// Length of the longest prefix that is valid UTF-8 (no surrogates, no overlong forms).
size_t valid_utf8_prefix(std::string_view bytes);

/// `bytes` as UTF-8, each maximal invalid part replaced by one U+FFFD (the Unicode standard's recommended practice).
std::string to_valid_utf8(std::string_view bytes);

/// The code point at `pos` of valid UTF-8; moves `pos` behind it.
char32_t next_code_point(std::string_view text, size_t& pos);

/// The code point that ends at `pos` (> 0) of valid UTF-8; moves `pos` before it.
char32_t previous_code_point(std::string_view text, size_t& pos);

void append_utf8(std::string& out, char32_t c);

bool is_ascii(std::string_view text);

/// An older character of the same kind for one newer than Unicode 14 (see newer_characters.h); others unchanged.
char32_t older_character(char32_t c);

/// `text` with older_character applied to every character: the same byte offsets. False and `out` untouched when
/// nothing changes, which is nearly always.
bool with_older_characters(std::string_view text, std::string& out);

bool is_white_space(char32_t c);    // property White_Space
bool is_word(char32_t c);           // Alphabetic, mark, decimal number, connector punctuation, join control
bool is_numeric(char32_t c);        // general category N*
bool is_decimal_digit(char32_t c);  // general category Nd: 7 and ٧, not ⑦ or ½
bool is_uppercase(char32_t c);      // property Uppercase
bool is_lowercase(char32_t c);      // property Lowercase, or a title-case letter: it is not all upper case

/// Full lower-case mapping of a single character, without context (a final sigma is not special).
void append_lowercase(std::string& out, char32_t c);

/// Whether a capital sigma at text[begin, end) ends its word, so that its small letter is the final one (Unicode's
/// Final_Sigma: cased letters before and none behind, marks and apostrophes aside).
bool is_final_sigma(std::string_view text, size_t begin, size_t end);

/// The simple case folding of a character: equal for all that differ by letter case alone, as Σ, σ and ς.
char32_t folded(char32_t c);

}  // namespace roll
