// Reads columns of a data row for reward rules, and shortens texts for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Returns the column's text; "" if it is missing or null. Other types are returned as JSON text.
std::string column_text(const Json& row, const char* name);

/// Returns the column's JSON value; a string is parsed as JSON. null if the column is missing, null or "". UserError
/// "name = value: ...": a string is not JSON.
Json column_json(const Json& row, const char* name);

/// Returns the text, shortened to about 200 bytes.
std::string shown_text(std::string_view text);

}  // namespace roll
