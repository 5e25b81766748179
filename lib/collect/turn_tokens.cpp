#include "collect/turn_tokens.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "collect/text_difference.h"

namespace roll {

namespace {

constexpr const char* kStandIn = "a turn";

Json message(const char* role, const std::string& text) {
  return {{"role", role}, {"content", text}};
}

/// `after` without `before`, with which it must begin.
std::string rest_behind(const std::string& before, const std::string& after) {
  if (after.starts_with(before)) return after.substr(before.size());
  const auto [at, first, then] = first_difference(before, after);
  throw user_error(
      "template: it changes what was said before once more follows: at character {} it first wrote {} and then {}, but "
      "sampled tokens stay as they are; choose a template that keeps all turns, as actor_train.data_args.template: "
      "chatml",
      at, first, then);
}

}  // namespace

Json tool_variables(const Json& tools) {
  return tools.is_null() ? Json::object() : Json{{"tools", tools}};
}

TurnTokens::TurnTokens(ChatTemplate chat_template, const Tokenizer& tokenizer)
    : template_(std::move(chat_template)), tokenizer_(tokenizer) {}

void TurnTokens::check(const char* role, const Json& tools) const {
  const Json first = Json::array({message("user", "a level")}), variables = tool_variables(tools);
  for (const char* turn : {kStandIn, "<think>\na thought\n</think>\n\na turn"}) {
    const std::string text = text_behind(first, turn, Json::array({message(role, "an answer")}), variables);
    if (text.find("an answer") == std::string::npos)
      throw user_error("template: a message of role {} does not appear in what it writes; choose another, as chatml",
                       role);
  }
  const std::string opening = template_.render(first, /*add_generation_prompt=*/true, variables);
  for (const Json& tool : tools)
    if (const auto& name = tool["function"]["name"].get_ref<const std::string&>();
        opening.find(name) == std::string::npos)
      throw user_error(
          "template: it does not show the tool {}; choose one that does, as native of a model that calls tools, or set "
          "env_config.show_tools: false for a model that knows them",
          name);
}

std::string TurnTokens::text_behind(Json messages, const std::string& turn, const Json& answer,
                                    const Json& variables) const {
  const std::string before = template_.render(messages, /*add_generation_prompt=*/true, variables) + turn;
  messages.push_back(message("assistant", turn));
  for (const Json& part : answer) messages.push_back(part);
  return rest_behind(before, template_.render(messages, /*add_generation_prompt=*/true, variables));
}

std::vector<int64_t> TurnTokens::prompt(const Json& messages) const {
  return tokenizer_.encode(template_.render(messages, /*add_generation_prompt=*/true), /*parse_special=*/true,
                           /*add_special=*/false);
}

std::vector<int64_t> TurnTokens::behind(const Before& before, Json answer, int64_t last_id) const {
  Json messages = before.first;
  for (const Json& earlier : before.answers) {
    messages.push_back(message("assistant", kStandIn));
    for (const Json& part : earlier) messages.push_back(part);
  }
  for (Json& part : answer) part["content"] = tokenizer_.disarmed(part["content"]);
  std::vector<int64_t> ids = tokenizer_.encode(text_behind(std::move(messages), kStandIn, answer, before.variables),
                                               /*parse_special=*/true, /*add_special=*/false);
  const auto& ends = tokenizer_.eos_ids();
  const bool is_ended = std::ranges::find(ends, last_id) != ends.end();
  if (is_ended && !ids.empty() && ids.front() == last_id) ids.erase(ids.begin());
  return ids;
}

}  // namespace roll
