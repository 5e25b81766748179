// Columns of a JSON line, as every reader of rows takes them: a run, `roll data check` and `roll score` alike.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace roll {

/// UserError "origin: key = value: must be NEEDED, not TYPE".
UserError wrong_column(const std::string& origin, const std::string& key, const Json& value, const char* needed);

/// nullptr where the line lacks it, or has null.
const Json* column(const Json& line, const std::string& name);

/// "" where there is none. UserError: it is no string.
std::string string_column(const Json& line, const std::string& name, const std::string& origin);

/// A string, or a number's text. UserError: neither.
std::string text_column(const Json& line, const std::string& name, const std::string& origin);

/// The column ground_truth: also an object, as its JSON, for ROLL's instruction rows hold one, mostly within a string.
std::string ground_truth_column(const Json& line, const std::string& origin);

}  // namespace roll
