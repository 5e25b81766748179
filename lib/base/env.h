// The environment: the only place that reads it. Values are copied, so later changes do not move them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roll {

/// The variable's value; nullopt when it is unset. An empty value counts as set.
std::optional<std::string> env(const std::string& name);

/// The names of all variables, sorted.
std::vector<std::string> env_names();

/// A whole number >= 0; nullopt when the variable is unset or empty. UserError names the variable when it is none.
std::optional<int64_t> env_count(const std::string& name);

/// Sets a variable for this process and its later children. Call before other threads run. SystemError.
void set_env(const std::string& name, const std::string& value);

}  // namespace roll
