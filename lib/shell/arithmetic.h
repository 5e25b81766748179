// The shell's whole numbers: what stands in $(( )), (( )) and behind `let`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace roll::shell {

/// Variables of an expression, by name.
struct NumberVariables {
  std::function<std::optional<std::string>(const std::string& name)> get;  // nullopt: not known
  std::function<void(const std::string& name, const std::string& value)> set;
};

/// nullopt: something in it is not known, or it is no expression, or is nested too deep. Wraps at 64 bits.
std::optional<int64_t> evaluate(std::string_view expression, const NumberVariables& variables);

}  // namespace roll::shell
