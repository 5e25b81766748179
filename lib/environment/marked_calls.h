// Parser of tool calls that begin with a mark, a fixed text such as <tool_call>, for tool_calls.cpp. The marks of the
// model families, and the calls after them:
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

/// A format of calls that begin with a mark.
struct CallMark {
  std::string_view opens;   // opening mark
  std::string_view closes;  // closing mark; may be empty, and may be missing at the end of the turn
  /// Reads the calls after the opening mark; empty if there is no valid one.
  std::vector<ToolCall> (*take)(CallText& in, const Json& tools);
};

/// Result of read_marked_calls().
struct MarkedCalls {
  std::vector<ToolCall> calls;  // empty: there is no valid call after the mark
  size_t end = 0;               // byte offset after the calls and their closing mark
};

/// Result of find_mark().
struct FoundMark {
  size_t at;             // byte offset of the mark, or of a partial mark at the text's end; else the text's size
  const CallMark* mark;  // null: there is no whole mark
};

/// Returns the first opening mark at or after byte `from`. If the text ends with a partial mark, which may be completed
/// when the text grows, returns its offset with a null mark.
FoundMark find_mark(std::string_view text, size_t from);

/// Reads the calls after an opening mark. `begin`: byte offset of the mark's end. `tools`: tool schemas, which give the
/// types of bare arguments (call_arguments.h); null: unknown.
MarkedCalls read_marked_calls(std::string_view text, size_t begin, const CallMark& mark, const Json& tools);

// The take functions read a call at the reading position and move past it. They return nullopt if there is no valid
// call; the position is then undefined.

/// Takes {"name": ..., "arguments": {...}}, or with "parameters" instead of "arguments".
std::optional<ToolCall> take_json_call(CallText& in);

/// Takes add{"a": 1}. Between name and arguments, there may be [CALL_ID] with an id, [ARGS], or a line end.
std::optional<ToolCall> take_named_json(CallText& in);

/// Returns the call of the tool `name`. `arguments`: JSON text. Returns nullopt if the name is empty or the arguments
/// are not a JSON object.
std::optional<ToolCall> make_call(std::string_view name, std::string_view arguments);

}  // namespace roll
