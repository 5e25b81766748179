// Parser of tool calls in a model's text, for environments, agent sessions and the server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/names.h"
#include "base/regex.h"
#include "environment/call_text.h"

namespace roll {

/// How a model writes calls. kMarked: after the marks of marked_calls.h, anywhere in the text except in a thought,
/// before </think>. The other forms have no mark, and the whole turn must be calls. kLlama3: {"name": ...,
/// "parameters": {...}}, several with a ; between, and <|python_tag|> may come first. kGlm4: a tool's name, and on the
/// next line its arguments as JSON, once or several times.
enum class ToolCallForm { kMarked, kLlama3, kGlm4 };

constexpr auto enum_names(ToolCallForm) {
  return std::to_array<Named<ToolCallForm>>({{ToolCallForm::kMarked, "marked"},
                                             {ToolCallForm::kMarked, "hermes"},
                                             {ToolCallForm::kLlama3, "llama3"},
                                             {ToolCallForm::kGlm4, "glm4"}});
}

struct ContentAndCalls {
  std::string content;  // text outside the calls
  std::vector<ToolCall> calls;
  std::vector<std::optional<ToolCall>> attempts{};  // the calls in order; nullopt: an invalid one
};

/// Splits a text into content and calls. An invalid call, without JSON, name or arguments, stays in the content:
/// nothing is lost. `tools`: schemas as chat templates take them, which give the types of bare arguments; null:
/// unknown.
ContentAndCalls split_tool_calls(const std::string& text, ToolCallForm form, const Json& tools);

/// A custom form: every match of a regular expression is a call; its groups are the name and the arguments.
class ToolCallPattern {
 public:
  /// `key`: start of the UserError if the expression does not compile or has not two groups.
  ToolCallPattern(const std::string& pattern, const std::string& key);
  /// Like split_tool_calls(). Finds no calls if matching costs too much.
  ContentAndCalls split(const std::string& text);

 private:
  Regex regex_;
  MatchMemory memory_;
};

/// Reads the calls of an environment's model.
class ToolCallReader {
 public:
  /// `pattern`: replaces `form` if it is set; `key`: see ToolCallPattern.
  ToolCallReader(ToolCallForm form, const std::optional<std::string>& pattern, const std::string& key);
  /// Reads the calls of a turn, without the special token that may end it. `tools`: see split_tool_calls(). Returns at
  /// most kMaxCalls attempts.
  ContentAndCalls read(const std::string& turn, const Json& tools);

 private:
  static constexpr size_t kMaxCalls = 16;
  ToolCallForm form_;
  std::optional<ToolCallPattern> pattern_;
};

/// Returns why the call cannot be made with these tools; "" if it can.
std::string call_fault(const std::optional<ToolCall>& call, const std::vector<std::string>& tools);

/// Returns how many leading bytes of a growing text are content whatever follows; the first `from` are known to be.
size_t sure_content(std::string_view text, size_t from, ToolCallForm form);

}  // namespace roll
