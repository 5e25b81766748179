// Checks that a text is JSON by the grammar of RFC 8259 alone, for ifeval checks. It accepts numbers of any size, lone
// surrogates and any nesting depth, but no byte-order mark, NaN or Infinity.
#pragma once

#include <string_view>

namespace roll::ifeval {

/// Returns whether the text is JSON. Linear time, no recursion.
bool is_json(std::string_view text);

}  // namespace roll::ifeval
