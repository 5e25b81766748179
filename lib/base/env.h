// Reads and sets environment variables; no other code of ours reads them. Returned values are copies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roll {

/// Returns the variable's value; nullopt when it is unset. An empty value counts as set.
std::optional<std::string> env(const std::string& name);

/// Returns the names of all variables, sorted.
std::vector<std::string> env_names();

/// Returns the variable's value as a whole number >= 0; nullopt when the variable is unset or empty. Throws UserError
/// if the value is not such a number.
std::optional<int64_t> env_count(const std::string& name);

/// Sets a variable for this process and the children it starts later. Call it before other threads run. Throws
/// SystemError if setenv fails.
void set_env(const std::string& name, const std::string& value);

}  // namespace roll
