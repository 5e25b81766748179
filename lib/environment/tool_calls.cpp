#include "environment/tool_calls.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/trim.h"

namespace roll {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kPythonTag = "<|python_tag|>";

/// Blanks around calls say nothing.
SpokenAndCalled finished(SpokenAndCalled parts) {
  for (const auto& attempt : parts.attempts)
    if (attempt) parts.calls.push_back(*attempt);
  if (!parts.calls.empty()) parts.content.resize(parts.content.find_last_not_of(kBlanks) + 1);
  return parts;
}

SpokenAndCalled split_hermes(const std::string& text, const Json& tools) {
  constexpr size_t kMostFaults = 64;  // each may cost a look at all that follows
  SpokenAndCalled parts;
  size_t at = 0, num_faults = 0;
  while (num_faults < kMostFaults) {
    const size_t open = text.find(kCallOpens, at);
    if (open == std::string::npos) break;
    const auto [call, end] = read_tagged_call(text, open + kCallOpens.size(), tools);
    parts.content += text.substr(at, (call ? open : end) - at);
    parts.attempts.push_back(call);
    if (!call) ++num_faults;
    at = end;
  }
  parts.content += text.substr(at);
  return finished(std::move(parts));
}

SpokenAndCalled split_llama3(const std::string& text) {
  SpokenAndCalled parts;
  std::string_view rest = trimmed_text(text);
  const bool is_marked = rest.starts_with(kPythonTag);
  if (is_marked) rest = trimmed_text(rest.substr(kPythonTag.size()));
  const bool is_meant = is_marked || rest.starts_with('{');
  while (!rest.empty()) {
    const size_t end = rest.starts_with('{') ? json_length(rest) : std::string_view::npos;
    const std::string_view behind = end == std::string_view::npos ? "" : trimmed_text(rest.substr(end));
    std::optional<ToolCall> call;
    if (end != std::string_view::npos && (behind.empty() || behind.starts_with(';')))
      call = call_of_json(rest.substr(0, end));
    if (!call && !is_meant) return {text, {}};
    if (!call) return {text, {}, {std::nullopt}};
    parts.attempts.push_back(call);
    rest = behind.empty() ? behind : trimmed_text(behind.substr(1));
  }
  return finished(std::move(parts));
}

Regex call_regex(const std::string& pattern, const std::string& key) {
  try {
    Regex regex(pattern, {.dot_all = true});
    if (regex.num_groups() == 2) return regex;
  } catch (const RegexError& e) {
    throw user_error("{} = {}: {} at byte {}; repair the expression", key, pattern, e.what(), e.offset);
  }
  throw user_error("{} = {}: needs two groups ( ), of the tool's name and of its arguments, as (\\w+)\\((.*?)\\)", key,
                   pattern);
}

/// The arguments are a JSON object.
std::optional<ToolCall> call_of(std::string_view name, std::string_view arguments) {
  try {
    const Json object = parse_json(trimmed_text(arguments), "arguments");
    if (object.is_object()) return ToolCall{std::string(trimmed_text(name)), to_line(object)};
  } catch (const UserError&) {
  }
  return std::nullopt;
}

}  // namespace

ToolCallPattern::ToolCallPattern(const std::string& pattern, const std::string& key)
    : regex_(call_regex(pattern, key)), memory_(2) {}

SpokenAndCalled ToolCallPattern::split(const std::string& text) try {
  SpokenAndCalled parts;
  size_t at = 0;
  while (regex_.find(text, at, memory_)) {
    const Span all = memory_.group(0).value();
    const auto group = [&](size_t i) {
      const auto span = memory_.group(i);
      return span ? std::string_view(text).substr(span->begin, span->end - span->begin) : std::string_view();
    };
    if (all.end == all.begin) break;  // it would match for ever
    parts.attempts.push_back(call_of(group(1), group(2)));
    parts.content += text.substr(at, (parts.attempts.back() ? all.begin : all.end) - at);
    at = all.end;
  }
  parts.content += text.substr(at);
  return finished(std::move(parts));
} catch (const MatchFailed&) {
  return {text, {}};
}

ToolCallReader::ToolCallReader(ToolCallForm form, const std::optional<std::string>& pattern, const std::string& key)
    : form_(form) {
  if (pattern) pattern_.emplace(*pattern, key);
}

SpokenAndCalled ToolCallReader::read(const std::string& turn, const Json& tools) {
  const size_t end = turn.ends_with("|>") ? std::min(turn.rfind("<|"), turn.size()) : turn.size();
  const std::string said = turn.substr(0, end);
  SpokenAndCalled parts = pattern_ ? pattern_->split(said) : split_tool_calls(said, form_, tools);
  parts.attempts.resize(std::min(parts.attempts.size(), kMostCalls));
  return parts;
}

std::string fault_of(const std::optional<ToolCall>& call, const std::vector<std::string>& tools) {
  if (!call) return "this is no call: a name and its arguments were expected";
  if (std::ranges::find(tools, call->name) != tools.end()) return "";
  return fmt::format("there is no tool {}; there is {}", call->name, fmt::join(tools, ", "));
}

SpokenAndCalled split_tool_calls(const std::string& text, ToolCallForm form, const Json& tools) {
  return form == ToolCallForm::kHermes ? split_hermes(text, tools) : split_llama3(text);
}

size_t sure_content(std::string_view text, ToolCallForm form) {
  if (form == ToolCallForm::kLlama3) {
    const std::string_view said = trimmed_text(text);
    const std::string_view beginning = said.substr(0, kPythonTag.size());
    return said.starts_with('{') || kPythonTag.starts_with(beginning) ? 0 : text.size();
  }
  size_t end = std::min(text.find(kCallOpens), text.size());
  for (size_t length = std::min(kCallOpens.size() - 1, text.size()); end == text.size() && length > 0; --length)
    if (text.ends_with(kCallOpens.substr(0, length))) end -= length;
  return text.substr(0, end).find_last_not_of(kBlanks) + 1;  // blanks before a call are not content
}

}  // namespace roll
