// Arguments of a call that a model writes bare, without JSON's quotes: the tool's schema says which of them are texts.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// The argument `key` of the tool `name`, which was written as `text`. `tools`: schemas as chat templates take them.
/// Read as transformers' parse_response() reads it: as the first of the types in the schema that it can be, else a
/// text. Of an unknown argument what is JSON is JSON, but for quoted texts, as templates write texts without quotes.
Json argument_value(std::string_view text, const std::string& name, const std::string& key, const Json& tools);

/// Whether there is such a tool, as far as the schemas are known.
bool may_be_tool(const Json& tools, const std::string& name);

}  // namespace roll
