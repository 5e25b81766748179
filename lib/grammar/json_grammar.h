// Grammars of JSON: of any object, and of what a JSON schema allows.
//
// Goal: all that a grammar lets pass is valid by the schema. It may be less than the schema allows: of an object with
// named properties only these are written, in their order; numbers have at most 18 digits, and a bounded one six
// decimals; blanks are a space, or a line break and its indentation. What a grammar cannot hold to is refused by name,
// never passed over.
#pragma once

#include <string>

#include "base/json.h"

namespace roll {

/// Any JSON object.
std::string object_grammar();

/// A value of that schema. UserError, opened by `key` and the place in the schema: a keyword that is not known, one
/// beside others that it is not known with, values that make no sense, a schema beyond the bounds of size and depth.
std::string schema_grammar(const Json& schema, const std::string& key);

/// A call of one of these tools ({type, function: {name, parameters}}, as chat templates take them), as JSON with the
/// keys name and `arguments_key`, between `opens` and `closes`.
std::string call_grammar(const Json& tools, const std::string& arguments_key, const std::string& opens,
                         const std::string& closes, const std::string& key);

}  // namespace roll
