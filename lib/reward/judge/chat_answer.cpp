#include "reward/judge/chat_answer.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "reward/reply.h"

namespace roll {

namespace {

constexpr std::array kThisQuestion{400, 413, 422};
constexpr std::array kAnyQuestion{300, 301, 302, 303, 307, 308, 401, 403, 404, 405, 410};

template <size_t N>
bool is_among(const std::array<int, N>& statuses, int status) {
  return std::ranges::find(statuses, status) != statuses.end();
}

ChatAnswer failed(RewardFailure kind, const std::string& reason) {
  return {.failure = kind, .reason = reason};
}

/// Returns nullptr if the member is missing or null.
const Json* member(const Json* json, const char* key) {
  if (!json || !json->is_object()) return nullptr;
  const auto found = json->find(key);
  return found == json->end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> text_member(const Json* json, const char* key) {
  const Json* text = member(json, key);
  return text && text->is_string() ? std::optional(text->get<std::string>()) : std::nullopt;
}

/// Returns the text of {"error": {"message": ...}}, {"error": "..."}, {"message": ...} or {"detail": ...}, else the
/// body.
std::string error_text(const Json& json, std::string_view body) {
  const Json* error = member(&json, "error");
  for (const auto& text : {text_member(error, "message"), text_member(&json, "error"), text_member(&json, "message"),
                           text_member(&json, "detail")})
    if (text) return said_text(*text);
  return said_text(body);
}

ChatAnswer refusal(int status, const Json& json, std::string_view body) {
  const bool concerns_question = is_among(kThisQuestion, status);
  ChatAnswer answer = failed(
      concerns_question ? RewardFailure::kUnjudged : RewardFailure::kUnavailable,
      fmt::format("status {}{}: {}", status, status >= 300 && status < 400 ? ", a redirect, which is not followed" : "",
                  error_text(json, body)));
  answer.is_refused = is_among(kAnyQuestion, status);
  return answer;
}

/// Returns the content, which is a string or a list of {"type": "text", "text": ...}.
std::optional<std::string> message_content(const Json* message) {
  const Json* content = member(message, "content");
  if (!content || !content->is_array()) return text_member(message, "content");
  std::string text;
  for (const Json& part : *content) text += text_member(&part, "text").value_or("");
  return text;
}

ChatAnswer read_choice(const Json* choice, std::string_view body) {
  const Json* message = member(choice, "message");
  if (!message)
    return failed(RewardFailure::kUnparsable, fmt::format("answered {}: no chat completion", said_text(body)));
  const std::string end = text_member(choice, "finish_reason").value_or("");
  const auto content = message_content(message), refused = text_member(message, "refusal");
  if (end == "content_filter")
    return failed(RewardFailure::kUnjudged, "the server's content filter removed the answer");
  if (refused && content.value_or("").empty())
    return failed(RewardFailure::kUnjudged, fmt::format("the judge refuses: {}", said_text(*refused)));
  if (content.value_or("").empty())
    return failed(RewardFailure::kUnparsable, fmt::format("the message has no content (finish_reason {}){}", end,
                                                          end == "length" ? "; raise max_new_tokens" : ""));
  return {.text = *content, .is_cut = end == "length"};
}

std::optional<int64_t> used_tokens(const Json& json) {
  const Json* total = member(member(&json, "usage"), "total_tokens");
  if (!total || !total->is_number_integer() || total->get<int64_t>() < 0) return std::nullopt;
  return total->get<int64_t>();
}

}  // namespace

ChatAnswer parse_chat_answer(int status, std::string_view body) {
  Json json;
  try {
    json = parse_json(body, "answer");
  } catch (const UserError&) {  // e.g. a proxy's HTML page, or truncated JSON
    if (status == 200) return failed(RewardFailure::kUnparsable, fmt::format("answered {}: no JSON", said_text(body)));
  }
  if (status != 200) return refusal(status, json, body);
  if (member(&json, "error")) return failed(RewardFailure::kUnavailable, "error: " + error_text(json, body));
  const Json* choices = member(&json, "choices");
  const bool has_one = choices && choices->is_array() && !choices->empty();
  ChatAnswer answer = read_choice(has_one ? &choices->front() : nullptr, body);
  answer.num_tokens = used_tokens(json);
  return answer;
}

}  // namespace roll
