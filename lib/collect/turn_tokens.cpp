#include "collect/turn_tokens.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/trim.h"
#include "collect/text_difference.h"

namespace roll {

namespace {

constexpr const char *kTurn = "a turn", *kThought = "a thought", *kAnswer = "an answer";

Json message(const char* role, const std::string& text) {
  return {{"role", role}, {"content", text}};
}

bool is_tool_message(const Json& message) {
  return message["role"] == "tool";
}

/// Appends a turn and its answers. `calls`: the turn has one call per tool answer. Call ids are unique within the
/// conversation and have nine characters, as Mistral's templates demand.
void add_exchange(Json& messages, const Json& answer, bool calls) {
  Json turn = message("assistant", kTurn), answers = answer;
  if (calls && std::ranges::any_of(answer, is_tool_message))
    turn = {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array()}};
  int64_t number = std::ranges::count_if(messages, is_tool_message);
  for (Json& part : answers) {
    if (!turn.contains("tool_calls") || !is_tool_message(part)) continue;
    const std::string id = fmt::format("{:09}", number++);
    part["tool_call_id"] = id;
    turn["tool_calls"].push_back({{"id", id},
                                  {"type", "function"},
                                  {"function", {{"name", part.value("name", "tool")}, {"arguments", Json::object()}}}});
  }
  messages.push_back(std::move(turn));
  messages.insert(messages.end(), answers.begin(), answers.end());
}

Json first_messages() {
  return Json::array({message("user", "a level")});
}

/// Returns `after` without its prefix `before`. UserError: it does not begin with `before`.
std::string text_after(const std::string& before, const std::string& after) {
  if (after.starts_with(before)) return after.substr(before.size());
  const auto [at, old_text, new_text] = first_difference(before, after);
  throw user_error(
      "template: changes earlier turns when a message follows: at character {}, {} becomes {}, but sampled tokens "
      "cannot change; choose a template that keeps all turns, such as actor_train.data_args.template: chatml",
      at, old_text, new_text);
}

}  // namespace

TurnTokens::StandIn TurnTokens::plain_stand_in() {
  return {message("assistant", kTurn), kTurn};
}

Json tool_variables(const Json& tools) {
  return tools.is_null() ? Json::object() : Json{{"tools", tools}};
}

TurnTokens::TurnTokens(ChatTemplate chat_template, const Tokenizer& tokenizer)
    : template_(std::move(chat_template)),
      tokenizer_(tokenizer),
      needs_calls_(!shows_answer(/*calls=*/false) && shows_answer(/*calls=*/true)) {}

bool TurnTokens::shows_answer(bool calls) const try {
  const Json tool{{"type", "function"},
                  {"function", {{"name", "f"}, {"description", ""}, {"parameters", Json::object()}}}};
  Json messages = first_messages();
  add_exchange(messages, Json::array({message("tool", kAnswer)}), calls);
  return template_.render(messages, /*add_generation_prompt=*/true, tool_variables(Json::array({tool})))
             .find(kAnswer) != std::string::npos;
} catch (const UserError&) {
  return false;
}

void TurnTokens::check(const char* role, const Json& tools) const {
  const Json variables = tool_variables(tools), answer = Json::array({message(role, kAnswer)});
  const auto require_answer = [&](const std::string& text) {
    if (text.find(kAnswer) == std::string::npos)
      throw user_error("template: leaves out messages of role {}; choose another template, such as chatml", role);
  };
  const auto try_turn = [&](const StandIn& turn) {
    require_answer(text_after_turn(first_messages(), turn, answer, variables));
  };
  const bool behind_calls = needs_calls_ && is_tool_message(answer[0]);
  if (behind_calls) require_answer(text_after_calls({first_messages(), variables, {}}, answer));
  const auto thought = behind_calls ? std::nullopt : thinking_stand_in(variables);
  if (thought) try_turn(*thought);
  const bool opens_thought = thought && trimmed_text(thought->text).starts_with(kThought);
  if (!opens_thought && !behind_calls) try {
      try_turn(plain_stand_in());
    } catch (const UserError&) {
      const auto turn = rendered_stand_in(plain_stand_in().message, variables);
      if (!turn) throw;
      try_turn(*turn);
    }
  const std::string opening = template_.render(first_messages(), /*add_generation_prompt=*/true, variables);
  for (const Json& tool : tools)
    if (const auto& name = tool["function"]["name"].get_ref<const std::string&>();
        opening.find(name) == std::string::npos)
      throw user_error(
          "template: does not show the tool {}; choose a template that shows tools, such as native for a model that "
          "calls tools, or set env_config.show_tools: false if the model already knows the tools",
          name);
}

/// Returns a stand-in whose text is what the template writes for `message`, perhaps with thinking tags. nullopt: it
/// cannot be sampled after the template's opening, e.g. because that closes a thought.
std::optional<TurnTokens::StandIn> TurnTokens::rendered_stand_in(const Json& message, const Json& variables) const {
  Json messages = first_messages();
  const std::string opening = template_.render(messages, /*add_generation_prompt=*/true, variables);
  messages.push_back(message);
  const std::string text = template_.render(messages, /*add_generation_prompt=*/false, variables);
  const size_t turn = text.rfind(kTurn);
  if (!text.starts_with(opening) || turn == std::string::npos || turn < opening.size()) return std::nullopt;
  return StandIn{message, text.substr(opening.size(), turn + std::strlen(kTurn) - opening.size())};
}

std::optional<TurnTokens::StandIn> TurnTokens::thinking_stand_in(const Json& variables) const {
  Json thought = message("assistant", kTurn), messages = first_messages();
  thought["reasoning_content"] = kThought;
  messages.push_back(thought);
  if (template_.render(messages, /*add_generation_prompt=*/false, variables).find(kThought) != std::string::npos)
    return rendered_stand_in(thought, variables);
  const std::string thinking_text =
      fmt::format("<think>\n{}\n</think>\n\n{}", kThought, kTurn);  // the template has no tags
  auto turn = rendered_stand_in(message("assistant", thinking_text), variables);
  return turn && turn->text.ends_with(thinking_text) ? turn
                                                     : StandIn{message("assistant", thinking_text), thinking_text};
}

std::string TurnTokens::text_after_turn(Json messages, const StandIn& turn, const Json& answer,
                                        const Json& variables) const {
  const std::string before = template_.render(messages, /*add_generation_prompt=*/true, variables) + turn.text;
  messages.push_back(turn.message);
  for (const Json& part : answer) messages.push_back(part);
  return text_after(before, template_.render(messages, /*add_generation_prompt=*/true, variables));
}

std::vector<int64_t> TurnTokens::prompt(const Json& messages) const {
  return tokenizer_.encode(template_.render(messages, /*add_generation_prompt=*/true), /*parse_special=*/true,
                           /*add_special=*/false);
}

std::string TurnTokens::text_between(const PastConversation& before, const Json& answer, const StandIn& turn) const {
  Json messages = before.opening_messages;
  for (const Json& earlier : before.answers) {
    messages.push_back(turn.message);
    for (const Json& part : earlier) messages.push_back(part);
  }
  return text_after_turn(std::move(messages), turn, answer, before.variables);
}

/// Returns the text after a turn with tool calls, from the template's end token on.
std::string TurnTokens::text_after_calls(const PastConversation& before, const Json& answer) const {
  Json messages = before.opening_messages;
  for (const Json& earlier : before.answers) add_exchange(messages, earlier, /*calls=*/true);
  const std::string opening = template_.render(messages, /*add_generation_prompt=*/true, before.variables);
  add_exchange(messages, answer, /*calls=*/true);
  const std::string text =
      text_after(opening, template_.render(messages, /*add_generation_prompt=*/true, before.variables));
  size_t end = std::string::npos;
  for (const int64_t id : tokenizer_.eos_ids()) end = std::min(end, text.find(tokenizer_.spelling(id)));
  if (end == std::string::npos)
    throw UserError(
        "template: writes no end token after a turn with tool calls; choose another template, such as chatml");
  return text.substr(end);
}

/// Uses the first stand-in that the template leaves unchanged.
std::string TurnTokens::text_between(const PastConversation& before, const Json& answer) const {
  if (needs_calls_ && std::ranges::any_of(answer, is_tool_message)) return text_after_calls(before, answer);
  try {
    return text_between(before, answer, plain_stand_in());
  } catch (const UserError&) {
    for (const auto& turn :
         {rendered_stand_in(plain_stand_in().message, before.variables), thinking_stand_in(before.variables)}) {
      if (!turn) continue;
      try {
        return text_between(before, answer, *turn);
      } catch (const UserError&) {  // report the first error instead
      }
    }
    throw;
  }
}

std::vector<int64_t> TurnTokens::tokens_between(const PastConversation& before, Json answer, int64_t last_id) const {
  for (Json& part : answer) part["content"] = tokenizer_.disarmed(part["content"]);
  const auto& end_ids = tokenizer_.eos_ids();
  const bool is_ended = std::ranges::find(end_ids, last_id) != end_ids.end();
  // The template writes an end token, too, so its text continues what the model said before its own.
  constexpr int64_t kOrdinary = -1;
  std::vector<int64_t> ids =
      tokenizer_.encode_behind(std::array{is_ended ? kOrdinary : last_id}, text_between(before, answer));
  if (is_ended && !ids.empty() && ids.front() == last_id) ids.erase(ids.begin());
  return ids;
}

}  // namespace roll
