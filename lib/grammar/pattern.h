// Converts regular expressions of JSON schemas ("pattern") to grammars of the text inside a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns a grammar that matches the whole string; ^ and $ are accepted at the ends of alternatives. Supports groups,
/// alternatives, classes, . \d \w \s and their opposites, escapes, and * + ? {m,n}. Matches characters in their
/// JSON-escaped form. UserError, beginning with `key`: malformed or unsupported syntax.
std::string pattern_grammar(std::string_view pattern, const std::string& key);

/// Returns the pattern for a schema's "format"; "" if unknown. Excludes February 29.
std::string format_pattern(const std::string& format);

}  // namespace roll
