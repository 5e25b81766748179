#include "collect/turn_tokens.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {

namespace {

constexpr const char* kStandIn = "a turn";
constexpr size_t kShown = 40;

Json message(const char* role, const std::string& text) {
  return {{"role", role}, {"content", text}};
}

std::string shown(const std::string& text, size_t from) {
  return from >= text.size() ? "its end" : to_line(Json(text.substr(from, kShown)));
}

/// `after` without `before`, with which it must begin.
std::string rest_behind(const std::string& before, const std::string& after) {
  if (after.starts_with(before)) return after.substr(before.size());
  const auto at = static_cast<size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
  throw user_error(
      "template: it changes what was said before once more follows: at character {} it first wrote {} and then {}, but "
      "sampled tokens stay as they are; choose a template that keeps all turns, as actor_train.data_args.template: "
      "chatml",
      at, shown(before, at), shown(after, at));
}

}  // namespace

TurnTokens::TurnTokens(ChatTemplate chat_template, const Tokenizer& tokenizer)
    : template_(std::move(chat_template)), tokenizer_(tokenizer) {
  const Json first = Json::array({message("user", "a level")});
  for (const char* turn : {kStandIn, " a turn \n", "<think>\na thought\n</think>\n\na turn"}) {
    const std::string text = text_behind(first, turn, "an answer");
    if (text.find("an answer") == std::string::npos)
      throw user_error("template: the user's message does not appear in what it writes; choose another, as chatml");
  }
}

std::string TurnTokens::text_behind(Json messages, const std::string& turn, const std::string& answer) const {
  const std::string before = template_.render(messages, /*add_generation_prompt=*/true) + turn;
  messages.push_back(message("assistant", turn));
  messages.push_back(message("user", answer));
  return rest_behind(before, template_.render(messages, /*add_generation_prompt=*/true));
}

std::vector<int64_t> TurnTokens::behind(const Json& first, const std::vector<std::string>& answers,
                                        const std::string& answer, int64_t last_id) const {
  Json messages = first;
  for (const std::string& earlier : answers) {
    messages.push_back(message("assistant", kStandIn));
    messages.push_back(message("user", earlier));
  }
  std::vector<int64_t> ids = tokenizer_.encode(text_behind(std::move(messages), kStandIn, tokenizer_.disarmed(answer)),
                                               /*parse_special=*/true, /*add_special=*/false);
  const auto& ends = tokenizer_.eos_ids();
  const bool is_ended = std::ranges::find(ends, last_id) != ends.end();
  if (is_ended && !ids.empty() && ids.front() == last_id) ids.erase(ids.begin());
  return ids;
}

}  // namespace roll
