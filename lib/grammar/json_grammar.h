// Grammars for JSON output: any object, the values of a JSON schema, and tool calls.
//
// Goal: everything that a grammar accepts is valid by the schema. It may accept less: objects with named properties
// hold only these, in their order; numbers have at most 18 digits, and with a bound at most six decimals; whitespace is
// a space, or a newline with indentation. Keywords that a grammar cannot enforce are refused, never ignored.
#pragma once

#include <string>

#include "base/json.h"

namespace roll {

/// Returns the grammar of any JSON object.
std::string object_grammar();

/// Returns the grammar of a schema's values. UserError, beginning with `key` and the place in the schema: an unknown
/// keyword or combination of keywords, contradictory values, or a schema that is too large or deep.
std::string schema_grammar(const Json& schema, const std::string& key);

/// Returns the grammar of a call of one of `tools` ({type, function: {name, parameters}}, as in chat templates): JSON
/// with the keys name and `arguments_key`, between `opens` and `closes`. UserError: the parameters of a tool are a
/// schema that schema_grammar() refuses.
std::string call_grammar(const Json& tools, const std::string& arguments_key, const std::string& opens,
                         const std::string& closes, const std::string& key);

}  // namespace roll
