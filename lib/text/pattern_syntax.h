// Translates Oniguruma's regular expressions, as in tokenizer.json, to PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns a PCRE2 pattern (options UTF | UCP | MULTILINE, newline LF) that matches like Oniguruma's `pattern`.
/// Rewrites \s \w \d \h \v ^ $ \b, {n,m}+ (not possessive in Oniguruma), {,n}, (?m: (dot matches newline in Oniguruma),
/// \u0041 and scripts. UserError "`where`: ...": an unsupported construct, with its offset.
std::string translate_pattern(std::string_view pattern, const std::string& where);

}  // namespace roll
