#include "environment/tagged_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "environment/call_arguments.h"

namespace roll {

namespace {

constexpr auto kNotFound = std::string_view::npos;
constexpr size_t kMaxArguments = 1000;  // lookup takes linear time

/// Tags of one call format: closing a value, opening the next argument, and, if any, before the call's closing tag.
struct TagSet {
  std::string_view value_closes, next_opens, body_closes;
};
constexpr TagSet kFunctionTags{"</parameter>", "<parameter=", "</function>"};
constexpr TagSet kKeyTags{"</arg_value>", "<arg_key>", ""};

enum class Follows { kNothingThatFits, kRestOfCall, kRestOfTurn };

/// Checks if the text continues as templates write it after a value: the rest of the call, and then the end, another
/// call or a special token.
Follows classify_rest(CallText in, const TagSet& tags) {
  if (in.skip_blanks().sees(tags.next_opens)) return Follows::kRestOfTurn;
  if (!in.take(tags.body_closes)) return Follows::kNothingThatFits;
  if (!in.skip_blanks().take(kCallCloses)) return in.is_at_end() ? Follows::kRestOfTurn : Follows::kNothingThatFits;
  in.skip_blanks();
  return in.is_at_end() || in.sees(kCallOpens) || in.sees("<|") ? Follows::kRestOfTurn : Follows::kRestOfCall;
}

/// Takes a value up to its closing tag: the first one, before the next call, after which call and turn continue as
/// templates write them; else the first one after which the call does.
std::optional<std::string_view> take_value(CallText& in, const TagSet& tags) {
  const std::string_view text = in.rest();
  size_t end = kNotFound, next_call = kNotFound;
  for (size_t at = text.find(tags.value_closes); at < next_call; at = text.find(tags.value_closes, at + 1)) {
    const Follows follows = classify_rest(CallText(text, at + tags.value_closes.size()), tags);
    if (follows == Follows::kNothingThatFits) continue;
    if (follows == Follows::kRestOfTurn) {
      end = at;
      break;
    }
    if (end != kNotFound) continue;
    end = at;
    next_call = std::min(text.find(kCallOpens, at), text.size());
  }
  if (end == kNotFound) return std::nullopt;
  in.move(end + tags.value_closes.size());
  return text.substr(0, end);
}

/// Removes the line ends that the template puts around a value.
std::string_view without_line_ends(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return value;
}

/// Takes a call after "<function=".
std::optional<ToolCall> take_function_tags(CallText& in, const Json& tools) {
  const std::string name = in.take_name();
  if (name.empty() || !in.take(">")) return std::nullopt;
  Json arguments = Json::object();
  while (in.skip_blanks().take(kFunctionTags.next_opens)) {
    const auto key = in.up_to(">");
    const auto value = key ? take_value(in, kFunctionTags) : std::nullopt;
    if (!value || arguments.size() == kMaxArguments) return std::nullopt;
    arguments[*key] = argument_value(without_line_ends(*value), name, *key, tools);
  }
  if (!in.take(kFunctionTags.body_closes)) return std::nullopt;
  return ToolCall{name, to_line(arguments)};
}

/// Takes a call with <arg_key> tags. A bare word is a call without arguments, if there may be such a tool.
std::optional<ToolCall> take_key_tags(CallText& in, const Json& tools) {
  const std::string name = in.take_name();
  if (name.empty()) return std::nullopt;
  Json arguments = Json::object();
  while (in.skip_blanks().take(kKeyTags.next_opens)) {
    const auto key = in.up_to("</arg_key>");
    if (!key || !in.skip_blanks().take("<arg_value>")) return std::nullopt;
    const auto value = take_value(in, kKeyTags);
    if (!value || arguments.size() == kMaxArguments) return std::nullopt;
    arguments[*key] = argument_value(*value, name, *key, tools);
  }
  if (arguments.empty() && (!in.sees(kCallCloses) || !may_be_tool(tools, name))) return std::nullopt;
  return ToolCall{name, to_line(arguments)};
}

}  // namespace

std::optional<ToolCall> take_tagged_call(CallText& in, const Json& tools) {
  return in.take("<function=") ? take_function_tags(in, tools) : take_key_tags(in, tools);
}

}  // namespace roll
