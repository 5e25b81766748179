// Evaluates the shell's integer arithmetic for the interpreter: $(( )), (( )) and `let`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace roll::shell {

/// Access to the variables of an expression, by name.
struct NumberVariables {
  std::function<std::optional<std::string>(const std::string& name)> get;  // nullopt: unknown
  std::function<void(const std::string& name, const std::string& value)> set;
};

/// Evaluates an expression in 64-bit wrapping arithmetic; nullopt if it is invalid, nested too deep, or has an unknown
/// value.
std::optional<int64_t> evaluate(std::string_view expression, const NumberVariables& variables);

}  // namespace roll::shell
