// Grammars for JSON output, in the notation of ebnf.h for Grammars::constraint(): any object, the values of a JSON
// schema, and tool calls. In all functions, `key` is the request's key that asks for the grammar, the start of error
// messages.
//
// Goal: everything that a grammar accepts is valid by the schema. It may accept less: objects with named properties
// hold only these, in their order; numbers have at most 18 digits, and with a bound at most six decimals; whitespace is
// a space, or a newline with indentation. Keywords that a grammar cannot enforce are refused, never ignored.
#pragma once

#include <string>

#include "base/json.h"

namespace roll {

/// Returns a grammar that accepts any JSON object.
std::string object_grammar();

/// Returns a grammar that accepts values of a JSON schema. Throws UserError, which names the place in the schema, for
/// an unknown keyword or combination of keywords, contradictory values, and a schema that is too large or deep.
std::string schema_grammar(const Json& schema, const std::string& key);

/// Returns a grammar that accepts one call of one of `tools`: the text `opens`, then {"name": ..., "KEY": {...}} with
/// `arguments_key` as KEY, then the text `closes`. `tools` is a list of {type, function: {name, parameters}}, as in
/// chat templates. Throws UserError if schema_grammar() refuses the parameters of a tool.
std::string call_grammar(const Json& tools, const std::string& arguments_key, const std::string& opens,
                         const std::string& closes, const std::string& key);

}  // namespace roll
