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

/// How a model writes tool calls. In the forms without a mark, the whole turn must consist of calls.
enum class ToolCallForm {
  kMarked,  // after a mark such as <tool_call> (marked_calls.h), anywhere but in a thought (before </think>)
  kLlama3,  // {"name": ..., "parameters": {...}}; several are separated by ; and <|python_tag|> may come first
  kGlm4,    // a tool's name and, on the next line, its arguments as JSON; once or several times
};

constexpr auto enum_names(ToolCallForm) {
  return std::to_array<Named<ToolCallForm>>({{ToolCallForm::kMarked, "marked"},
                                             {ToolCallForm::kMarked, "hermes"},
                                             {ToolCallForm::kLlama3, "llama3"},
                                             {ToolCallForm::kGlm4, "glm4"}});
}

/// A turn's text, split into content and calls.
struct ContentAndCalls {
  std::string content;                              // text outside the valid calls
  std::vector<ToolCall> calls;                      // the valid calls, in order
  std::vector<std::optional<ToolCall>> attempts{};  // all calls in order, valid or not; nullopt: an invalid one
};

/// Splits a turn's text into content and calls. An invalid call (not JSON, or without name or arguments) stays in the
/// content, so that no text is lost. `tools`: tool schemas as chat templates take them, which give the types of
/// arguments written without quotes; null: unknown.
ContentAndCalls split_tool_calls(const std::string& text, ToolCallForm form, const Json& tools);

/// A user-defined form of calls: every match of a regular expression is a call. Group 1 is the tool's name, group 2 its
/// arguments as JSON. Not thread-safe.
class ToolCallPattern {
 public:
  /// `pattern`: PCRE2 expression. `key`: its configuration key, the start of error messages. Throws UserError if the
  /// pattern does not compile or does not have two groups.
  ToolCallPattern(const std::string& pattern, const std::string& key);
  /// Splits a turn's text as split_tool_calls() does. Finds no calls if matching costs too much (base/regex.h).
  ContentAndCalls split(const std::string& text);

 private:
  Regex regex_;
  MatchMemory memory_;
};

/// Reads tool calls as an environment's configuration keys (tool_calls, tool_pattern) demand. Not thread-safe.
class ToolCallReader {
 public:
  /// `pattern`: if set, is used instead of `form`. `key`: configuration key of the pattern, the start of error
  /// messages. Throws UserError as ToolCallPattern() does.
  ToolCallReader(ToolCallForm form, const std::optional<std::string>& pattern, const std::string& key);
  /// Splits the text of a turn as split_tool_calls() does, after removing a special token such as <|im_end|> at its
  /// end. `attempts` holds only the first 16 calls.
  ContentAndCalls read(const std::string& turn, const Json& tools);

 private:
  static constexpr size_t kMaxCalls = 16;
  ToolCallForm form_;
  std::optional<ToolCallPattern> pattern_;
};

/// Returns the reason why a call cannot be made, as a text for the model; "" if it can be made. A call cannot be made
/// if it is invalid (nullopt) or its name is not in `tools`, the names of the known tools. Arguments are not checked.
std::string call_fault(const std::optional<ToolCall>& call, const std::vector<std::string>& tools);

/// Returns the number of leading bytes of `text` that are content, however the turn goes on; for streaming. `text`: the
/// turn's text so far. `from`: result of an earlier call for this turn, or 0.
size_t sure_content(std::string_view text, size_t from, ToolCallForm form);

}  // namespace roll
