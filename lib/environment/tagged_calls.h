// Parser of tool calls without JSON between <tool_call> and </tool_call>, for marked_calls.h:
//   <function=add>, a line <parameter=a>, the value's lines, </parameter>, ... </function>          Qwen3.5, 3.6, Coder
//   add, and for each argument <arg_key>a</arg_key> and <arg_value>1</arg_value>                              GLM-4.5
// An argument may hold the closing tags: a tag closes only where the rest of the call follows it.
#pragma once

#include <optional>

#include "base/json.h"
#include "environment/call_text.h"

namespace roll {

constexpr std::string_view kCallOpens = "<tool_call>", kCallCloses = "</tool_call>";

/// Takes the call here, up to its closing tag; nullopt if there is none. `tools`: schemas, which give the types of the
/// bare arguments (call_arguments.h).
std::optional<ToolCall> take_tagged_call(CallText& in, const Json& tools);

}  // namespace roll
