// Parser of tool-call arguments that a model writes as bare text, without JSON's quotes: the type in the tool's schema
// decides how the text is read. For tagged_calls.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Returns the value of an argument. `text`: the value as the model wrote it. `name`: name of the tool. `key`: name of
/// the argument. `tools`: list of tool schemas as chat templates take them; empty or null: unknown. Like transformers'
/// parse_response(), the value has the first type in the schema that fits the text, else it is `text` as a string.
/// Without a type in the schema, text that is JSON is parsed. Quoted strings stay as they are, because templates write
/// strings without quotes.
Json argument_value(std::string_view text, const std::string& name, const std::string& key, const Json& tools);

/// Returns true if `tools` has the tool `name`, or if `tools` is empty or null because the schemas are unknown.
bool may_be_tool(const Json& tools, const std::string& name);

}  // namespace roll
