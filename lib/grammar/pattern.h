// Converts regular expressions of JSON schemas (the keyword "pattern") to grammars of the text inside a JSON string,
// for json_grammar.cpp.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Returns a piece of a rule (ebnf.h) for the texts that `pattern` matches as a whole, in their JSON-escaped form
/// without quotes. ^ and $ may stand only at the ends of alternatives. Supports groups, alternatives, classes, . \d \w
/// \s and their opposites, escapes, and * + ? {m,n}. `key`: start of error messages. Throws UserError for malformed or
/// unsupported syntax.
std::string pattern_grammar(std::string_view pattern, const std::string& key);

/// Returns the pattern, for pattern_grammar(), of a JSON schema's "format", such as "date"; "" if the format is
/// unknown. Dates exclude February 29.
std::string format_pattern(const std::string& format);

}  // namespace roll
