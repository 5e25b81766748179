// Translates the regular expressions of a tokenizer.json from Oniguruma's syntax to PCRE2's, for pattern.h.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns a PCRE2 pattern (options UTF | UCP | MULTILINE, newline LF) that matches like Oniguruma's `pattern`.
/// Rewrites \s \w \d \h \v ^ $ \b, {n,m}+ (not possessive in Oniguruma), {,n}, (?m: (dot matches newline in Oniguruma),
/// \u0041, and scripts such as \p{Han}. Throws UserError "WHERE: ..." for an unsupported construct, with its byte
/// offset, and for a pattern that is too long.
std::string translate_pattern(std::string_view pattern, const std::string& where);

}  // namespace roll
