// Oniguruma's regular-expression syntax (what tokenizer.json holds) rewritten for PCRE2, construct by construct.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// The PCRE2 pattern (options UTF | UCP | MULTILINE, newline LF) that matches as Oniguruma matches `pattern`.
/// Differences that are rewritten: \s \w \d \h \v ^ $ \b, {n,m}+ (not possessive there), {,n}, (?m: (dot matches
/// newline there), \u0041, scripts. UserError with the construct and its offset for those that are not supported,
/// opened by `where`.
std::string translate_pattern(std::string_view pattern, const std::string& where);

}  // namespace roll
