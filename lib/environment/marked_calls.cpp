#include "environment/marked_calls.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/trim.h"
#include "environment/loose_json.h"
#include "environment/tagged_calls.h"

namespace roll {

namespace {

std::vector<ToolCall> as_list(std::optional<ToolCall> call) {
  return call ? std::vector{*std::move(call)} : std::vector<ToolCall>();
}

/// Takes the JSON object or list that begins here, by counting brackets outside strings; "" if it does not end.
std::string_view take_json(CallText& in) {
  const std::string_view text = in.rest();
  int64_t depth = 0;
  bool is_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_text) {
      if (c == '\\') ++i;
      is_text = c != '"';
    } else if (c == '"') {
      is_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth <= 0) {
      in.move(i + 1);
      return text.substr(0, i + 1);
    }
  }
  return "";
}

Json json_or_null(std::string_view text) try { return parse_json(text, "a call"); } catch (const UserError&) {
  return nullptr;
}

std::optional<ToolCall> parse_call(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() || json["name"] == "") return {};
  for (const char* key : {"arguments", "parameters"})
    if (json.contains(key) && json[key].is_object()) return ToolCall{json["name"], to_line(json[key])};
  return {};
}

/// Takes one call object, or a list of call objects only.
std::vector<ToolCall> take_json_calls(CallText& in, const Json&) {
  if (in.sees("{")) return as_list(take_json_call(in));
  if (!in.sees("[")) return {};
  std::vector<ToolCall> calls;
  for (const Json& element : json_or_null(take_json(in))) {
    const auto call = parse_call(element);
    if (!call) return {};
    calls.push_back(*call);
  }
  return calls;
}

std::vector<ToolCall> take_json_or_tags(CallText& in, const Json& tools) {
  return in.sees("{") || in.sees("[") ? take_json_calls(in, tools) : as_list(take_tagged_call(in, tools));
}

std::vector<ToolCall> take_json_or_named(CallText& in, const Json& tools) {
  return in.sees("{") || in.sees("[") ? take_json_calls(in, tools) : as_list(take_named_json(in));
}

std::optional<ToolCall> take_loose_call(CallText& in, std::string_view opens) {
  const std::string name = in.take_name();
  const auto arguments = in.sees(opens) ? take_loose_json(in) : std::nullopt;
  return arguments ? make_call(name, *arguments) : std::nullopt;
}

std::vector<ToolCall> take_gemma_call(CallText& in, const Json&) {
  return in.take("call:") ? as_list(take_loose_call(in, "{")) : std::vector<ToolCall>();
}

std::vector<ToolCall> take_python_calls(CallText& in, const Json&) {
  std::vector<ToolCall> calls;
  do {
    const auto call = take_loose_call(in, "(");
    if (!call) return {};
    calls.push_back(*call);
  } while (!in.skip_blanks().is_at_end() && !in.sees("<"));
  return calls;
}

constexpr std::array kMarks{CallMark{kCallOpens, kCallCloses, take_json_or_tags},
                            CallMark{"[TOOL_CALLS]", "", take_json_or_named},
                            CallMark{"<|tool_call|>", "<|/tool_call|>", take_json_calls},
                            CallMark{"<|tool_call>", "<tool_call|>", take_gemma_call},
                            CallMark{"<start_function_call>", "<end_function_call>", take_gemma_call},
                            CallMark{"<function_calls>", "</function_calls>", take_python_calls}};

}  // namespace

FoundMark find_mark(std::string_view text, size_t from) {
  for (size_t at = text.find_first_of("<[", from); at != std::string_view::npos; at = text.find_first_of("<[", at + 1))
    for (const CallMark& mark : kMarks) {
      const std::string_view candidate = text.substr(at, mark.opens.size());
      if (candidate == mark.opens) return {at, &mark};
      if (at + candidate.size() == text.size() && mark.opens.starts_with(candidate)) return {at, nullptr};
    }
  return {text.size(), nullptr};
}

MarkedCalls read_marked_calls(std::string_view text, size_t begin, const CallMark& mark, const Json& tools) {
  CallText in(text, begin);
  std::vector<ToolCall> calls = mark.take(in.skip_blanks(), tools);
  // A special token may end the turn before the closing mark.
  const bool is_closed = in.skip_blanks().take(mark.closes) || in.is_at_end() || in.sees("<|");
  if (!calls.empty() && is_closed) return {std::move(calls), in.at()};
  const size_t close = text.find(mark.closes, begin);
  return {{}, close == std::string_view::npos ? text.size() : close + mark.closes.size()};
}

std::optional<ToolCall> take_json_call(CallText& in) {
  return in.sees("{") ? parse_call(json_or_null(take_json(in))) : std::nullopt;
}

std::optional<ToolCall> take_named_json(CallText& in) {
  const std::string name = in.take_name();
  if (in.take("[CALL_ID]")) in.take_name();
  in.take("[ARGS]");
  return in.skip_blanks().sees("{") ? make_call(name, take_json(in)) : std::nullopt;
}

std::optional<ToolCall> make_call(std::string_view name, std::string_view arguments) {
  const Json object = json_or_null(trimmed_text(arguments));
  return !name.empty() && object.is_object() ? std::optional(ToolCall{std::string(name), to_line(object)})
                                             : std::nullopt;
}

}  // namespace roll
