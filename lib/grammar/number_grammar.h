// Grammars of numbers within the bounds of a JSON schema; used by json_grammar.cpp.
#pragma once

#include <string>

#include "base/json.h"

namespace roll {

/// Returns the grammar of numbers within minimum, maximum, exclusiveMinimum and exclusiveMaximum of `schema`. With a
/// bound, a number has at most six decimals and twelve digits before them. UserError, beginning with `where`: a bound
/// is no number or beyond 10^9 (for integers 10^12), or no number lies between them.
std::string number_grammar(const Json& schema, bool is_integer, const std::string& where);

}  // namespace roll
