// Interface of the built-in tools that a model calls in environments of type `tools` (tool_use.h).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/json.h"

namespace roll {

/// Thrown by a call that fails. The model gets "Error: " and what() as the tool's answer.
struct ToolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A tool with one argument, a string. Not thread-safe: one object per thread.
class Tool {
 public:
  virtual ~Tool() = default;
  virtual std::string name() const = 0;
  virtual std::string description() const = 0;
  /// Returns the name of the argument.
  virtual std::string argument() const = 0;
  virtual std::string argument_description() const = 0;
  /// Returns the answer to a call. `argument`: value of the argument. Throws ToolError if the call fails, and
  /// EnvironmentFailed if the tool itself is broken, which ends the trajectory.
  virtual std::string call(const std::string& argument) = 0;
};

/// Returns the tool's schema, as in OpenAI's API and chat templates: {"type": "function", "function": {...}}.
inline Json tool_schema(const Tool& tool) {
  const Json text{{"type", "string"}, {"description", tool.argument_description()}};
  const Json parameters{
      {"type", "object"}, {"properties", {{tool.argument(), text}}}, {"required", Json::array({tool.argument()})}};
  return {{"type", "function"},
          {"function", {{"name", tool.name()}, {"description", tool.description()}, {"parameters", parameters}}}};
}

}  // namespace roll
