// Reads typed columns of a JSON row; shared by training, `roll data check` and `roll score`.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace roll {

/// Makes the error "origin: key = value: must be NEEDED, not TYPE".
UserError wrong_column(const std::string& origin, const std::string& key, const Json& value, const char* needed);

/// Returns the column; nullptr if it is missing or null.
const Json* column(const Json& line, const std::string& name);

/// Returns a string column; "" if absent. UserError: it is no string.
std::string string_column(const Json& line, const std::string& name, const std::string& origin);

/// Returns a string, or a number as text; "" if absent. UserError: it is neither.
std::string text_column(const Json& line, const std::string& name, const std::string& origin);

/// Returns the column ground_truth. An object (ROLL's instruction rows) is returned as JSON text.
std::string ground_truth_column(const Json& line, const std::string& origin);

}  // namespace roll
