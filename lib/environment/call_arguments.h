// Parser of tool-call arguments that a model writes bare, without JSON's quotes: the tool's schema says which are
// strings. For tagged_calls.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Returns the argument `key` of the tool `name`, written as `text`. `tools`: schemas as chat templates take them. Like
/// transformers' parse_response(), it takes the first type in the schema that fits, else a string. An argument without
/// a type is parsed as JSON, unless that is a quoted string: templates write strings without quotes.
Json argument_value(std::string_view text, const std::string& name, const std::string& key, const Json& tools);

/// Returns true if `tools` has this tool, or is empty because schemas are unknown.
bool may_be_tool(const Json& tools, const std::string& name);

}  // namespace roll
