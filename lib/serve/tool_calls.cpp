#include "serve/tool_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/trim.h"

namespace roll {

namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>", kBlanks = " \t\r\n";

std::optional<ToolCall> call_of(std::string_view text) {
  Json call;
  try {
    call = parse_json(trimmed_text(text), "a call");
  } catch (const UserError&) {
    return {};
  }
  if (!call.is_object() || !call.contains("name") || !call["name"].is_string()) return {};
  for (const char* key : {"arguments", "parameters"})
    if (call.contains(key) && call[key].is_object()) return ToolCall{call["name"], to_line(call[key])};
  return {};
}

SpokenAndCalled split_hermes(const std::string& text) {
  SpokenAndCalled parts;
  size_t at = 0;
  while (true) {
    const size_t open = text.find(kOpen, at), body = open + kOpen.size();
    if (open == std::string::npos) break;
    const size_t close = std::min(text.find(kClose, body), text.size());  // an end token may stand in its place
    const auto call = call_of(std::string_view(text).substr(body, close - body));
    const size_t end = std::min(close + kClose.size(), text.size());
    parts.content += text.substr(at, (call ? open : end) - at);
    if (call) parts.calls.push_back(*call);
    at = end;
  }
  parts.content += text.substr(at);
  // Blank lines before and between calls say nothing.
  if (!parts.calls.empty()) parts.content.resize(parts.content.find_last_not_of(kBlanks) + 1);
  return parts;
}

SpokenAndCalled split_llama3(const std::string& text) {
  std::vector<ToolCall> calls;
  // A ; may stand within a string: the shortest beginning that is a call is one.
  std::string_view rest = trimmed_text(text);
  while (!rest.empty()) {
    std::optional<ToolCall> call;
    size_t end = 0;
    while (!call && end < rest.size()) {
      end = std::min(rest.find(';', end + 1), rest.size());
      call = call_of(rest.substr(0, end));
    }
    if (!call) return {text, {}};
    calls.push_back(*call);
    rest = trimmed_text(rest.substr(std::min(end + 1, rest.size())));
  }
  return {"", std::move(calls)};
}

}  // namespace

SpokenAndCalled split_tool_calls(const std::string& text, ToolCallForm form) {
  return form == ToolCallForm::kHermes ? split_hermes(text) : split_llama3(text);
}

size_t sure_content(std::string_view text, ToolCallForm form) {
  if (form == ToolCallForm::kLlama3) {
    const std::string_view said = trimmed_text(text);
    return said.empty() || said.front() == '{' ? 0 : text.size();
  }
  size_t end = std::min(text.find(kOpen), text.size());
  for (size_t length = std::min(kOpen.size() - 1, text.size()); end == text.size() && length > 0; --length)
    if (text.ends_with(kOpen.substr(0, length))) end -= length;
  return text.substr(0, end).find_last_not_of(kBlanks) + 1;  // blanks before a call are not content
}

}  // namespace roll
