// Whether a text is JSON, by its grammar alone (RFC 8259): no bound of what a program could hold refuses a number of
// any size, half of a surrogate pair or a list of any depth, and a byte-order mark, NaN and Infinity are not in it.
#pragma once

#include <string_view>

namespace roll::ifeval {

/// Linear, and without recursion.
bool is_json(std::string_view text);

}  // namespace roll::ifeval
