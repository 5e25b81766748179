// The shell's patterns: *, ?, [a-z], and backslashes before what means itself.
#pragma once

#include <string>
#include <string_view>

namespace roll::shell {

/// Takes time of the product of both lengths at most.
bool matches_pattern(std::string_view text, std::string_view pattern);
/// `text` as a pattern that only it matches.
std::string as_pattern(std::string_view text);

}  // namespace roll::shell
