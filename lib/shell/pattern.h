// Shell patterns (*, ?, [a-z], backslash escapes), matched by the interpreter.
#pragma once

#include <string>
#include <string_view>

namespace roll::shell {

/// Returns true if the whole text matches. Time is at most the product of both lengths.
bool matches_pattern(std::string_view text, std::string_view pattern);
/// Escapes `text` to a pattern that matches only itself.
std::string as_pattern(std::string_view text);

}  // namespace roll::shell
