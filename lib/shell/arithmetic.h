// Evaluates the shell's integer arithmetic for the interpreter: $(( )), (( )) and `let`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace roll::shell {

/// Access to the shell's variables, by name.
struct NumberVariables {
  /// Returns a variable's text, which may be an expression again; nullopt if it is known only at run time.
  std::function<std::optional<std::string>(const std::string& name)> get;
  std::function<void(const std::string& name, const std::string& value)> set;  // called for =, +=, ++, ...
};

/// Evaluates an expression in 64-bit wrapping arithmetic, including its assignments; nullopt if it is invalid, nested
/// too deep, divides by zero, or uses a variable that is known only at run time.
std::optional<int64_t> evaluate(std::string_view expression, const NumberVariables& variables);

}  // namespace roll::shell
