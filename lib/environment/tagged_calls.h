// Parser of tool calls without JSON between <tool_call> and </tool_call>, for marked_calls.h:
//   <function=add>, a line <parameter=a>, the value's lines, </parameter>, ... </function>          Qwen3.5, 3.6, Coder
//   add, and for each argument <arg_key>a</arg_key> and <arg_value>1</arg_value>                              GLM-4.5
// An argument may itself contain closing tags: a tag ends the argument only if a valid rest of the call follows.
#pragma once

#include <optional>

#include "base/json.h"
#include "environment/call_text.h"

namespace roll {

/// Marks around a call.
constexpr std::string_view kCallOpens = "<tool_call>", kCallCloses = "</tool_call>";

/// Reads the call at the reading position, after <tool_call>, and moves past it, but not past </tool_call>. Returns
/// nullopt if there is no valid call; the position is then undefined. `tools`: tool schemas, which give the types of
/// the arguments (call_arguments.h); null: unknown.
std::optional<ToolCall> take_tagged_call(CallText& in, const Json& tools);

}  // namespace roll
