// Parser of tool calls that begin with a mark, for tool_calls.h. The marks of the model families, and what follows
// each:
//   <tool_call>            {"name": "add", "arguments": {"a": 1}}, or tags (tagged_calls.h): Qwen, Hermes, SmolLM3,
//                          Granite 4, GLM-4.5
//   [TOOL_CALLS]           [{"name": "add", "arguments": {"a": 1}, "id": "1"}], or add[ARGS]{"a": 1} with a mark for
//                          each call: Mistral, Ministral
//   <|tool_call|>          [{"name": "add", "arguments": {"a": 1}}]: Phi-4-mini, Granite 3
//   <|tool_call>           call:add{a:1}: Gemma 4
//   <start_function_call>  call:add{a:1}: FunctionGemma
//   <function_calls>       add(a=1), several on lines of their own: OLMo 3
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "environment/call_text.h"

namespace roll {

struct CallMark {
  std::string_view opens, closes;  // closes: may be empty; it may be missing at the end of the turn
  std::vector<ToolCall> (*take)(CallText& in, const Json& tools);  // returns none if there is no call
};

struct MarkedCalls {
  std::vector<ToolCall> calls;  // empty: there is no valid call after the mark
  size_t end = 0;               // offset after the calls and their closing mark
};

struct FoundMark {
  size_t at;             // offset; the text's end if there is none
  const CallMark* mark;  // null: none, or only its beginning at the text's end
};

/// Returns the next mark at or after `from`, or the beginning of a possible one at the end of a growing text.
FoundMark find_mark(std::string_view text, size_t from);

/// Reads the calls after a mark that ends at `begin`. `tools`: schemas, which give the types of bare arguments
/// (call_arguments.h).
MarkedCalls read_marked_calls(std::string_view text, size_t begin, const CallMark& mark, const Json& tools);

/// Takes {"name": ..., "arguments" or "parameters": {...}}; nullopt if there is no such call.
std::optional<ToolCall> take_json_call(CallText& in);

/// Takes add{"a": 1}, with [CALL_ID], an id and [ARGS], or a line end, before the arguments; nullopt if there is none.
std::optional<ToolCall> take_named_json(CallText& in);

/// Returns the call with this JSON object; nullopt if the name is empty or `arguments` is no object.
std::optional<ToolCall> make_call(std::string_view name, std::string_view arguments);

}  // namespace roll
