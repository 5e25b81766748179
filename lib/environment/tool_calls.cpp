#include "environment/tool_calls.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/trim.h"
#include "environment/call_arguments.h"
#include "environment/marked_calls.h"

namespace roll {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kPythonTag = "<|python_tag|>";

/// Fills in the calls, and removes blanks at the end of the content.
ContentAndCalls finished(ContentAndCalls parts) {
  for (const auto& attempt : parts.attempts)
    if (attempt) parts.calls.push_back(*attempt);
  if (!parts.calls.empty()) parts.content.resize(parts.content.find_last_not_of(kBlanks) + 1);
  return parts;
}

ContentAndCalls split_marked(const std::string& text, const Json& tools) {
  constexpr size_t kMaxFaults = 64;  // each may scan the whole rest
  ContentAndCalls parts;
  const size_t think_end = text.find("</think>"), thought_end = think_end == std::string::npos ? 0 : think_end;
  size_t at = 0, num_faults = 0;
  while (num_faults < kMaxFaults) {
    const auto [open, mark] = find_mark(text, at);
    if (!mark) break;
    const size_t begin = open + mark->opens.size();
    const auto [calls, end] = read_marked_calls(text, begin, *mark, tools);
    if (calls.empty()) ++num_faults;
    const bool is_thought =
        open < thought_end && (calls.empty() || end <= thought_end);  // a thought only mentions calls
    const size_t after = is_thought ? begin : end;
    parts.content += text.substr(at, (is_thought || calls.empty() ? after : open) - at);
    at = after;
    if (is_thought) continue;
    parts.attempts.insert(parts.attempts.end(), calls.begin(), calls.end());
    if (calls.empty()) parts.attempts.emplace_back();
  }
  parts.content += text.substr(at);
  return finished(std::move(parts));
}

/// Form of a turn that is nothing but calls.
struct UnmarkedForm {
  std::string_view opens;    // optional; calls follow it
  std::string_view between;  // separates calls
  bool (*is_begun)(CallText in, const Json& tools);
  std::optional<ToolCall> (*take)(CallText& in);
};

bool begins_json(CallText in, const Json&) {
  return in.sees("{");
}

bool begins_named(CallText in, const Json& tools) {
  const std::string name = in.take_name();
  return !name.empty() && may_be_tool(tools, name) && in.take("\n") && in.skip_blanks().sees("{");
}

constexpr UnmarkedForm kLlama3Calls{kPythonTag, ";", begins_json, take_json_call};
constexpr UnmarkedForm kGlm4Calls{"", "", begins_named, take_named_json};

ContentAndCalls split_unmarked(const std::string& text, const UnmarkedForm& form, const Json& tools) {
  CallText in(text, 0);
  const bool is_marked = in.skip_blanks().take(form.opens) && !form.opens.empty();
  if (!is_marked && !form.is_begun(in, tools)) return {text, {}};
  ContentAndCalls parts;
  while (!in.skip_blanks().is_at_end()) {
    const auto call = form.take(in);
    const bool is_complete = in.skip_blanks().take(form.between) || in.is_at_end();
    if (!call || !is_complete) return {text, {}, {std::nullopt}};
    parts.attempts.push_back(call);
  }
  return finished(std::move(parts));
}

/// Returns true if a turn that begins with `said` may be calls.
bool may_be_unmarked(std::string_view turn, ToolCallForm form) {
  if (form == ToolCallForm::kLlama3)
    return turn.starts_with('{') || kPythonTag.starts_with(turn.substr(0, kPythonTag.size()));
  const std::string_view after_name = turn.substr(std::min(turn.find_first_of(CallText::kNotInNames), turn.size()));
  const std::string_view arguments = trimmed_text(after_name);
  return after_name.empty() || (after_name.starts_with('\n') && (arguments.empty() || arguments.starts_with('{')));
}

/// Returns the special token that ends a turn, like <|im_end|>; "" if there is none.
std::string_view end_token(std::string_view turn) {
  const size_t begin = turn.rfind("<|");
  if (!turn.ends_with("|>") || begin == std::string_view::npos) return "";
  const std::string_view token = turn.substr(begin);
  return token.find_first_of(CallText::kNotInNames, 1) == token.size() - 1 ? token : "";
}

Regex call_regex(const std::string& pattern, const std::string& key) {
  try {
    Regex regex(pattern, {.dot_all = true});
    if (regex.num_groups() == 2) return regex;
  } catch (const RegexError& e) {
    throw user_error("{} = {}: {} at byte {}; repair the expression", key, pattern, e.what(), e.offset);
  }
  throw user_error(
      "{} = {}: needs two groups ( ), for the tool's name and for its arguments, such as (\\w+)\\((.*?)\\)", key,
      pattern);
}

}  // namespace

ToolCallPattern::ToolCallPattern(const std::string& pattern, const std::string& key)
    : regex_(call_regex(pattern, key)), memory_(2) {}

ContentAndCalls ToolCallPattern::split(const std::string& text) try {
  ContentAndCalls parts;
  size_t at = 0;
  while (regex_.find(text, at, memory_)) {
    const Span match = memory_.group(0).value();
    const auto group = [&](size_t i) {
      const auto span = memory_.group(i);
      return span ? std::string_view(text).substr(span->begin, span->end - span->begin) : std::string_view();
    };
    if (match.end == match.begin) break;  // it would match for ever
    parts.attempts.push_back(make_call(trimmed_text(group(1)), group(2)));
    parts.content += text.substr(at, (parts.attempts.back() ? match.begin : match.end) - at);
    at = match.end;
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

ContentAndCalls ToolCallReader::read(const std::string& turn, const Json& tools) {
  const std::string content = turn.substr(0, turn.size() - end_token(turn).size());
  ContentAndCalls parts = pattern_ ? pattern_->split(content) : split_tool_calls(content, form_, tools);
  parts.attempts.resize(std::min(parts.attempts.size(), kMaxCalls));
  return parts;
}

std::string call_fault(const std::optional<ToolCall>& call, const std::vector<std::string>& tools) {
  if (!call) return "this is no call: a name and its arguments were expected";
  if (std::ranges::find(tools, call->name) != tools.end()) return "";
  return fmt::format("there is no tool {}; there is {}", call->name, fmt::join(tools, ", "));
}

ContentAndCalls split_tool_calls(const std::string& text, ToolCallForm form, const Json& tools) {
  if (form == ToolCallForm::kMarked) return split_marked(text, tools);
  return split_unmarked(text, form == ToolCallForm::kLlama3 ? kLlama3Calls : kGlm4Calls, tools);
}

size_t sure_content(std::string_view text, size_t from, ToolCallForm form) {
  if (form != ToolCallForm::kMarked) return may_be_unmarked(trimmed_text(text), form) ? 0 : text.size();
  const size_t end = find_mark(text, from).at;
  return std::max(from, text.substr(0, end).find_last_not_of(kBlanks) + 1);  // blanks before a call are not content
}

}  // namespace roll
