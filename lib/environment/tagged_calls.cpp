#include "environment/tagged_calls.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/trim.h"
#include "environment/call_arguments.h"

namespace roll {

namespace {

constexpr auto kNowhere = std::string_view::npos;
constexpr std::string_view kSpaces = " \t\r\n";

/// A place in a text, which moves on over what it meets.
class Scanner {
 public:
  Scanner(std::string_view text, size_t at) : text_(text), at_(at) {}
  size_t at() const { return at_; }
  bool is_at_end() const { return at_ == text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }
  void move(size_t bytes) { at_ += bytes; }

  Scanner& skip_blanks() {
    at_ = std::min(text_.find_first_not_of(kSpaces, at_), text_.size());
    return *this;
  }
  bool sees(std::string_view word) const { return rest().starts_with(word); }
  bool take(std::string_view word) {
    if (!sees(word)) return false;
    at_ += word.size();
    return true;
  }
  /// What stands before the next `word`, which is passed over; nothing is read where there is none.
  std::optional<std::string> up_to(std::string_view word) {
    const size_t end = text_.find(word, at_);
    if (end == kNowhere) return std::nullopt;
    std::string found(text_.substr(at_, end - at_));
    at_ = end + word.size();
    return found;
  }

 private:
  std::string_view text_;
  size_t at_;
};

/// How a way of writing writes: what closes an argument's value, what opens the next argument, and what, if anything,
/// stands before the call's closing tag.
struct Way {
  std::string_view value_closes, next_opens, body_closes;
};
constexpr Way kFunctionTags{"</parameter>", "<parameter=", "</function>"};
constexpr Way kKeyTags{"</arg_value>", "<arg_key>", ""};

enum class Follows { kNothingThatFits, kRestOfCall, kRestOfTurn };

/// What stands here: the rest of a call, and behind it nothing, another call or a special token, as templates write?
Follows what_follows(Scanner in, const Way& way) {
  if (in.skip_blanks().sees(way.next_opens)) return Follows::kRestOfTurn;
  if (!in.take(way.body_closes)) return Follows::kNothingThatFits;
  if (!in.skip_blanks().take(kCallCloses)) return in.is_at_end() ? Follows::kRestOfTurn : Follows::kNothingThatFits;
  in.skip_blanks();
  return in.is_at_end() || in.sees(kCallOpens) || in.sees("<|") ? Follows::kRestOfTurn : Follows::kRestOfCall;
}

/// A value up to the tag that closes it: the first behind which call and turn go on as templates write them, before
/// another call opens, else the first behind which the call does.
std::optional<std::string_view> take_value(std::string_view text, Scanner& in, const Way& way) {
  const size_t begin = in.at();
  size_t end = kNowhere, next_call = kNowhere;
  for (size_t at = text.find(way.value_closes, begin); at < next_call; at = text.find(way.value_closes, at + 1)) {
    const Follows follows = what_follows(Scanner(text, at + way.value_closes.size()), way);
    if (follows == Follows::kNothingThatFits) continue;
    if (end == kNowhere) next_call = std::min(text.find(kCallOpens, at), text.size());
    if (end == kNowhere || follows == Follows::kRestOfTurn) end = at;
    if (follows == Follows::kRestOfTurn) break;
  }
  if (end == kNowhere) return std::nullopt;
  in.move(end + way.value_closes.size() - begin);
  return text.substr(begin, end - begin);
}

/// The template puts the value on lines of its own.
std::string_view without_line_ends(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return value;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\r\n<>(){}[]\"'=,;:") == kNowhere;
}

/// `in` stands behind "<function=".
std::optional<ToolCall> read_function_tags(std::string_view text, Scanner& in, const Json& tools) {
  const auto name = in.up_to(">");
  if (!name || !is_name(*name)) return std::nullopt;
  Json arguments = Json::object();
  while (in.skip_blanks().take(kFunctionTags.next_opens)) {
    const auto key = in.up_to(">");
    const auto value = key ? take_value(text, in, kFunctionTags) : std::nullopt;
    if (!value) return std::nullopt;
    arguments[*key] = argument_value(without_line_ends(*value), *name, *key, tools);
  }
  if (!in.take(kFunctionTags.body_closes)) return std::nullopt;
  return ToolCall{*name, to_line(arguments)};
}

/// A word between the tags is a call without arguments, but of no other tool than there is.
std::optional<ToolCall> read_key_tags(std::string_view text, Scanner& in, const Json& tools) {
  const std::string name(trimmed_text(in.rest().substr(0, in.rest().find_first_of("\n<"))));
  if (!is_name(name)) return std::nullopt;
  in.move(name.size());
  Json arguments = Json::object();
  while (in.skip_blanks().take(kKeyTags.next_opens)) {
    const auto key = in.up_to("</arg_key>");
    if (!key || !in.skip_blanks().take("<arg_value>")) return std::nullopt;
    const auto value = take_value(text, in, kKeyTags);
    if (!value) return std::nullopt;
    arguments[*key] = argument_value(*value, name, *key, tools);
  }
  if (arguments.empty() && (!in.sees(kCallCloses) || !may_be_tool(tools, name))) return std::nullopt;
  return ToolCall{name, to_line(arguments)};
}

std::optional<ToolCall> read_json(Scanner& in) {
  const size_t length = json_length(in.rest());
  if (length == kNowhere) return std::nullopt;
  const std::string_view object = in.rest().substr(0, length);
  in.move(length);
  return call_of_json(object);
}

}  // namespace

std::optional<ToolCall> call_of_json(std::string_view text) {
  Json call;
  try {
    call = parse_json(text, "a call");
  } catch (const UserError&) {
    return {};
  }
  if (!call.is_object() || !call.contains("name") || !call["name"].is_string()) return {};
  for (const char* key : {"arguments", "parameters"})
    if (call.contains(key) && call[key].is_object()) return ToolCall{call["name"], to_line(call[key])};
  return {};
}

size_t json_length(std::string_view text) {
  int depth = 0;
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
      return i + 1;
    }
  }
  return kNowhere;
}

TaggedCall read_tagged_call(std::string_view text, size_t begin, const Json& tools) {
  Scanner in(text, begin);
  in.skip_blanks();
  const auto call = in.sees("{")            ? read_json(in)
                    : in.take("<function=") ? read_function_tags(text, in, tools)
                                            : read_key_tags(text, in, tools);
  const bool is_closed = in.skip_blanks().take(kCallCloses);
  if (call && (is_closed || in.is_at_end())) return {call, in.at()};
  const size_t close = text.find(kCallCloses, begin);
  return {std::nullopt, close == kNowhere ? text.size() : close + kCallCloses.size()};
}

}  // namespace roll
