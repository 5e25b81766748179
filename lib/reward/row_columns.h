// Columns of a data row, as rules read them and as messages show them.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// The column's text; "" where it is missing or null. Anything but a string is its JSON.
std::string text_of_column(const Json& row, const char* name);

/// A list or object, or a string that holds the JSON of one; null where the column is missing, null or "". UserError
/// "name = value: ...": a string that is no JSON.
Json json_of_column(const Json& row, const char* name);

/// At most 200 characters.
std::string shown_text(std::string_view text);

}  // namespace roll
