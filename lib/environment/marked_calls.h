// Calls that a mark opens, each family's own, and what stands behind the mark:
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
  std::string_view opens, closes;  // closes: empty where nothing does; it may be missing at the end of the turn
  std::vector<ToolCall> (*take)(CallText& in, const Json& tools);  // empty: what stands here is no call
};

struct MarkedCalls {
  std::vector<ToolCall> calls;  // empty: it was meant as one and is none
  size_t end = 0;               // where what follows begins, behind what closes the calls
};

struct FoundMark {
  size_t at;             // the text's end where there is none
  const CallMark* mark;  // null where there is none, or only its beginning at the text's end
};

/// The next mark at or behind `from`, or what may become one at the end of a text that grows.
FoundMark find_mark(std::string_view text, size_t from);

/// The calls behind this mark, which ends at `begin`. `tools`: schemas, by which arguments that are written bare get
/// their types (call_arguments.h).
MarkedCalls read_marked_calls(std::string_view text, size_t begin, const CallMark& mark, const Json& tools);

/// {"name": ..., "arguments" or "parameters": {...}}, which is passed over; empty where it is none.
std::optional<ToolCall> take_json_call(CallText& in);

/// add{"a": 1}, with [CALL_ID], an id and [ARGS] between the two or a line's end; passed over; empty where it is none.
std::optional<ToolCall> take_named_json(CallText& in);

/// A call whose arguments are this JSON object; empty where they are none.
std::optional<ToolCall> call_of(std::string_view name, std::string_view arguments);

}  // namespace roll
