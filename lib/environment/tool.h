// A tool that a model calls from its turn: what it says of itself to the chat template, and its answer to a call.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/json.h"

namespace roll {

/// A call that has no answer; what() is told to the model as the tool's error.
struct ToolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Not thread-safe: one object per thread.
class Tool {
 public:
  virtual ~Tool() = default;
  virtual std::string name() const = 0;
  virtual std::string description() const = 0;
  /// The only argument's name and meaning; it is a text.
  virtual std::string argument() const = 0;
  virtual std::string argument_description() const = 0;
  /// Throws ToolError. EnvironmentFailed: the tool itself is broken, whatever it is asked.
  virtual std::string call(const std::string& argument) = 0;
};

/// As OpenAI's API and the templates of models know it: {"type": "function", "function": {...}}.
inline Json schema_of(const Tool& tool) {
  const Json text{{"type", "string"}, {"description", tool.argument_description()}};
  const Json parameters{
      {"type", "object"}, {"properties", {{tool.argument(), text}}}, {"required", Json::array({tool.argument()})}};
  return {{"type", "function"},
          {"function", {{"name", tool.name()}, {"description", tool.description()}, {"parameters", parameters}}}};
}

}  // namespace roll
