// Reads typed columns of a data row (a JSON object), for training, `roll data check` and `roll score`. `origin`
// ("file:line") begins the text of errors.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace roll {

/// Makes (does not throw) the error "origin: key = value: must be NEEDED, not TYPE". `needed`: such as "a string".
UserError wrong_column(const std::string& origin, const std::string& key, const Json& value, const char* needed);

/// Returns the value of the column `name`, a part of the row `line`; nullptr if it is missing or null.
const Json* column(const Json& line, const std::string& name);

/// Returns the text of a string column; "" if it is missing or null. Throws UserError if it has another type.
std::string string_column(const Json& line, const std::string& name, const std::string& origin);

/// Returns the text of a column with strings or numbers; "" if it is missing or null. Throws UserError if it has
/// another type.
std::string text_column(const Json& line, const std::string& name, const std::string& origin);

/// Like text_column(), for the column ground_truth, which may also be an object (ROLL's instruction rows): it is
/// returned as JSON text.
std::string ground_truth_column(const Json& line, const std::string& origin);

}  // namespace roll
