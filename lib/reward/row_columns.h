// Reads columns of a data row for reward rules, and shortens texts for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Returns a string column's text, or another column's value as JSON text; "" if the column is missing or null.
std::string column_text(const Json& row, const char* name);

/// Returns the column's value; if it is a string, the JSON value that the string holds. Returns null if the column is
/// missing, null or "". Throws UserError "name = value: ..." if a string is not JSON.
Json column_json(const Json& row, const char* name);

/// Returns the text for a message: its first 200 bytes and " ..." if it is longer. Does not cut inside a character.
std::string shown_text(std::string_view text);

}  // namespace roll
