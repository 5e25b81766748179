// Interface of tools that a model calls, for tool_use: the description for the chat template, and the answer to a call.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/json.h"

namespace roll {

/// A call failed; the model is shown what() as the tool's error.
struct ToolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Not thread-safe: one object per thread.
class Tool {
 public:
  virtual ~Tool() = default;
  virtual std::string name() const = 0;
  virtual std::string description() const = 0;
  /// Returns the name of the only argument, a string.
  virtual std::string argument() const = 0;
  virtual std::string argument_description() const = 0;
  /// Returns the answer. ToolError: the call failed. EnvironmentFailed: the tool itself is broken.
  virtual std::string call(const std::string& argument) = 0;
};

/// Returns the schema as in OpenAI's API and chat templates: {"type": "function", "function": {...}}.
inline Json tool_schema(const Tool& tool) {
  const Json text{{"type", "string"}, {"description", tool.argument_description()}};
  const Json parameters{
      {"type", "object"}, {"properties", {{tool.argument(), text}}}, {"required", Json::array({tool.argument()})}};
  return {{"type", "function"},
          {"function", {{"name", tool.name()}, {"description", tool.description()}, {"parameters", parameters}}}};
}

}  // namespace roll
