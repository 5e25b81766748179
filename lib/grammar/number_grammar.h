// Builds grammars of numbers within the bounds of a JSON schema, as pieces of rules (ebnf.h); used by json_grammar.cpp.
#pragma once

#include <string>

#include "base/json.h"

namespace roll {

/// Returns the piece for numbers within minimum, maximum, exclusiveMinimum and exclusiveMaximum of `schema`. With any
/// of these keys, the numbers have at most six decimals (none if `is_integer`) and twelve digits before the point.
/// Without one, returns the name of the rule "integer" or "number" of json_grammar.cpp. `where`: place in the schema,
/// the start of error messages. Throws UserError if a bound is not a number, has more than six decimals, its absolute
/// value is above 10^9 (for integers: 10^12 - 1), or if no number lies between the bounds.
std::string number_grammar(const Json& schema, bool is_integer, const std::string& where);

}  // namespace roll
