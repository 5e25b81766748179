// Grammars of numbers within the bounds of a JSON schema, as pieces of rules (ebnf.h); used by json_grammar.cpp.
#pragma once

#include <string>

#include "base/json.h"

namespace roll {

/// Returns the piece for numbers within minimum, maximum, exclusiveMinimum and exclusiveMaximum of `schema`: with a
/// bound, numbers of at most six decimals and twelve digits before them; without one, the name of json_grammar's rule
/// "integer" or "number". Throws UserError, beginning with `where`, if a bound is not a number, has more than six
/// decimals, is above 10^9 (for integers: 10^12 or above), or if no number lies between the bounds.
std::string number_grammar(const Json& schema, bool is_integer, const std::string& where);

}  // namespace roll
