// Reads and sets environment variables; nothing else reads them. Values are copied, so later changes do not affect
// them.
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

/// Returns a whole number >= 0; nullopt when the variable is unset or empty. UserError: the value is not such a number.
std::optional<int64_t> env_count(const std::string& name);

/// Sets a variable for this process and later children. Call it before other threads run. SystemError: setenv fails.
void set_env(const std::string& name, const std::string& value);

}  // namespace roll
