// Calls of tools as models write them into their text.
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

/// kMarked: behind the marks of marked_calls.h, which say how a call is written, any number of them around what is
/// said, but none in a thought, before </think>. The others have no mark, and are all of a turn. kLlama3: {"name": ...,
/// "parameters": {...}}, or several with a ; between; <|python_tag|> may stand before, which says that a call follows.
/// kGlm4: a tool's name, and on the next line its arguments as JSON, once or several times.
enum class ToolCallForm { kMarked, kLlama3, kGlm4 };

constexpr auto names_of(ToolCallForm) {
  return std::to_array<Named<ToolCallForm>>({{ToolCallForm::kMarked, "marked"},
                                             {ToolCallForm::kMarked, "hermes"},
                                             {ToolCallForm::kLlama3, "llama3"},
                                             {ToolCallForm::kGlm4, "glm4"}});
}

struct SpokenAndCalled {
  std::string content;  // what is said beside the calls
  std::vector<ToolCall> calls;
  std::vector<std::optional<ToolCall>> attempts{};  // the calls, and in their places what was meant as one and is none
};

/// A call that is no JSON, or has no name or arguments, is content like any other text: nothing is lost. `tools`:
/// schemas as chat templates take them, by which arguments that are written without quotes get their types; null: none
/// are known.
SpokenAndCalled split_tool_calls(const std::string& text, ToolCallForm form, const Json& tools);

/// A form of one's own: every match of an expression is a call, whose first group is the name and second the arguments.
class ToolCallPattern {
 public:
  /// `key` opens the UserError of an expression that does not compile or has not two groups.
  ToolCallPattern(const std::string& pattern, const std::string& key);
  /// As split_tool_calls(). Matching that costs too much finds no more.
  SpokenAndCalled split(const std::string& text);

 private:
  Regex regex_;
  MatchMemory memory_;
};

/// How an environment's model calls.
class ToolCallReader {
 public:
  /// `pattern`: in its place, as ToolCallPattern takes it with `key`.
  ToolCallReader(ToolCallForm form, const std::optional<std::string>& pattern, const std::string& key);
  /// Of a turn, behind which the token that ends it may stand. `tools`: as for split_tool_calls(). Calls beyond
  /// kMostCalls are not made.
  SpokenAndCalled read(const std::string& turn, const Json& tools);

 private:
  static constexpr size_t kMostCalls = 16;
  ToolCallForm form_;
  std::optional<ToolCallPattern> pattern_;
};

/// Why no such call can be made where there are these tools; "": it can.
std::string fault_of(const std::optional<ToolCall>& call, const std::vector<std::string>& tools);

/// How many bytes at the beginning of a growing text are content whatever comes; `from` are so already.
size_t sure_content(std::string_view text, size_t from, ToolCallForm form);

}  // namespace roll
