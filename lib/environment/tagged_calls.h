// The calls that stand between <tool_call> and </tool_call>, in the three ways in which models write them:
//   {"name": "add", "arguments": {"a": 1}}                                         Qwen 2 to 3, Hermes, SmolLM3,
//   Granite 4 <function=add>, a line <parameter=a>, the value's lines, </parameter>, ... </function>     Qwen3.5, 3.6
//   and Coder add, and for each argument <arg_key>a</arg_key> and <arg_value>1</arg_value> GLM-4.5
// What begins shows which it is. An argument may hold the closing tags: a tag closes only where the rest of the call
// follows it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

struct ToolCall {
  std::string name;
  std::string arguments;  // a JSON object, as text
};

constexpr std::string_view kCallOpens = "<tool_call>", kCallCloses = "</tool_call>";

/// {"name": ..., "arguments" or "parameters": {...}}; empty: it is no call.
std::optional<ToolCall> call_of_json(std::string_view text);

/// Bytes of the JSON object or list that `text` begins with, braces and quotes counted; npos: it does not end.
size_t json_length(std::string_view text);

struct TaggedCall {
  std::optional<ToolCall> call;  // empty: it was meant as one and is none
  size_t end = 0;                // where what follows it begins, behind its closing tag
};

/// The call in `text`, whose opening tag ends at `begin`; the closing tag may be missing at the end of the text.
/// `tools`: schemas, by which arguments that are written bare get their types (call_arguments.h).
TaggedCall read_tagged_call(std::string_view text, size_t begin, const Json& tools);

}  // namespace roll
