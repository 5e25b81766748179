// Shell patterns (*, ?, [a-z], backslash escapes), matched by the interpreter.
#pragma once

#include <string>
#include <string_view>

namespace roll::shell {

/// Returns true if all of `text` matches. Takes at most time proportional to the product of both lengths.
bool matches_pattern(std::string_view text, std::string_view pattern);
/// Returns `text` with its special characters escaped: a pattern that matches only `text`.
std::string as_pattern(std::string_view text);

}  // namespace roll::shell
