// UTF-8 and character classes as in Hugging Face's tokenizers, by Unicode 16; used by tokenizers, Jinja and rewards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roll {

/// Returns the length of the longest prefix that is valid UTF-8 (no surrogates, no overlong forms).
size_t valid_utf8_prefix(std::string_view bytes);

/// Returns `bytes` with each maximal invalid part replaced by one U+FFFD (the Unicode standard's recommended practice).
std::string to_valid_utf8(std::string_view bytes);

/// Returns the code point at `pos` of valid UTF-8 and moves `pos` after it.
char32_t next_code_point(std::string_view text, size_t& pos);

/// Returns the code point that ends at `pos` (> 0) of valid UTF-8 and moves `pos` before it.
char32_t previous_code_point(std::string_view text, size_t& pos);

void append_utf8(std::string& out, char32_t c);

bool is_ascii(std::string_view text);

/// Returns an older character of the same kind for one newer than Unicode 14 (newer_characters.h); others unchanged.
char32_t older_character(char32_t c);

/// Writes `text` with older_character() applied to each character; byte offsets stay the same. Returns false and leaves
/// `out` untouched if nothing changes, which is nearly always.
bool with_older_characters(std::string_view text, std::string& out);

bool is_white_space(char32_t c);    // property White_Space
bool is_word(char32_t c);           // Alphabetic, mark, decimal number, connector punctuation, join control
bool is_numeric(char32_t c);        // general category N*
bool is_decimal_digit(char32_t c);  // general category Nd: 7 and ٧, not ⑦ or ½
bool is_uppercase(char32_t c);      // property Uppercase
bool is_lowercase(char32_t c);      // property Lowercase, or title case

/// Appends the full lower-case mapping of one character, without context (a final sigma is not special).
void append_lowercase(std::string& out, char32_t c);

/// Returns true if a capital sigma at text[begin, end) ends its word and so becomes a final sigma (Unicode's
/// Final_Sigma: cased letters before and none after, ignoring marks and apostrophes).
bool is_final_sigma(std::string_view text, size_t begin, size_t end);

/// Returns the simple case folding, which is equal for characters that differ only by case, such as Σ, σ and ς.
char32_t folded(char32_t c);

}  // namespace roll
