// Regular expressions of JSON schemas ("pattern") as grammars of the text between a JSON string's quotes.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// All of the string matches: ^ and $ are understood at the ends of alternatives, and may be left out. Known are
/// groups, alternatives, classes, . \d \w \s and their opposites, escapes, and * + ? {m,n}. A character that JSON must
/// escape stands escaped. UserError, opened by `key`: what is not known, and what is malformed.
std::string pattern_grammar(std::string_view pattern, const std::string& key);

/// The pattern of what is written for a schema's "format"; "": that one is not known. Of February 29 days, 28 are.
std::string pattern_of_format(const std::string& format);

}  // namespace roll
