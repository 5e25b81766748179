// Numbers between the bounds that a JSON schema sets.
#pragma once

#include <string>

#include "base/json.h"

namespace roll {

/// A number, whole where `is_integer`, within minimum, maximum, exclusiveMinimum and exclusiveMaximum of `schema`. With
/// a bound it has at most six decimals and twelve digits before them. UserError, opened by `where`: bounds that are no
/// numbers or beyond 10^9 (of integers 10^12), or between which there is none.
std::string number_grammar(const Json& schema, bool is_integer, const std::string& where);

}  // namespace roll
