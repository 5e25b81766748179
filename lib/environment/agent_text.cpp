#include "environment/agent_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "environment/call_arguments.h"
#include "environment/tool_calls.h"

namespace roll {

namespace {

/// Like Python's str.format: {name} is replaced, {{ and }} are braces.
template <class F>
std::string formatted(const std::string& text, const F& replacement) {
  std::string formatted_text;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_double = i + 1 < text.size() && text[i + 1] == text[i];
    if (text[i] == '{' && !is_double) {
      const size_t end = text.find('}', i);
      if (end == std::string::npos) return formatted_text + text.substr(i);
      formatted_text += replacement(text.substr(i + 1, end - i - 1));
      i = end;
      continue;
    }
    formatted_text += text[i];
    if (is_double && (text[i] == '{' || text[i] == '}')) ++i;
  }
  return formatted_text;
}

}  // namespace

namespace {

std::string turn_summary(const PastTurn& turn, int64_t number) {
  return fmt::format("Turn {} showed:\n{}\nYou answered: {}{}\nReward: {}", number, turn.observation, turn.action,
                     turn.is_valid ? "" : " (no valid action: keep to the output format)", turn.reward);
}

/// Returns the text of the last `count` turns.
std::string history_text(const std::vector<PastTurn>& past, int64_t count, EnvManager manager) {
  std::vector<std::string> texts;
  for (int64_t k = std::ssize(past) - count; k < std::ssize(past); ++k)
    texts.push_back(manager == EnvManager::kSteps ? turn_summary(past[k], k + 1) : past[k].observation);
  return fmt::format("{}", fmt::join(texts, "\n"));
}

using Values = std::map<std::string, std::string>;

/// Returns the values that agent_template may name after `num_turns` turns.
Values template_values(const EnvironmentConfig& config, const std::string& observation, int64_t num_turns) {
  return {{"observation", observation},
          {"turn_idx", std::to_string(num_turns + 1)},
          {"actions_left", std::to_string(config.max_steps - num_turns)},
          {"max_response_length", std::to_string(config.max_tokens_per_step)},
          {"suffix", ""}};
}

Values template_values(const EnvironmentConfig& config, const Opening& now, const std::vector<PastTurn>& past) {
  const int64_t num_turns = std::ssize(past), num_shown = std::min(num_turns, config.history_length - 1);
  Values values = template_values(config, now.observation, num_turns);
  values.insert({{"env_instruction", now.instruction},
                 {"history", history_text(past, num_shown, config.manager().value())},
                 {"history_length", std::to_string(num_shown)},
                 {"step_count", std::to_string(num_turns)},
                 {"current_step", std::to_string(num_turns + 1)},
                 {"current_observation", now.observation}});
  return values;
}

Json make_messages(const EnvironmentConfig& config, const std::string& text) {
  Json messages = Json::array();
  if (const std::string system = config.agent_system_template.value_or(""); !system.empty())
    messages.push_back({{"role", "system"}, {"content", system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  return messages;
}

}  // namespace

void check_agent_template(const EnvironmentConfig& config, const std::string& where) {
  const Values known = config.has_contexts() ? template_values(config, Opening(), {}) : template_values(config, "", 0);
  formatted(config.agent_template, [&](const std::string& name) -> std::string {
    if (known.contains(name)) return "";
    std::vector<std::string> names;
    for (const auto& [key, value] : known) names.push_back("{" + key + "}");
    throw user_error("{}agent_template: {{{}}} is not a known field; the fields are {}; write other braces twice",
                     where, name, fmt::join(names, ", "));
  });
}

std::string turn_text(const EnvironmentConfig& config, const std::string& observation, int64_t turn) {
  const Values values = template_values(config, observation, turn);
  return formatted(config.agent_template, [&](const std::string& name) { return values.at(name); });
}

Json messages_between(const EnvironmentConfig& config, const Reaction& reaction, int64_t turn,
                      const std::string& model_text, const Json& tools) {
  Json messages = Json::array();
  for (const std::string& answer : reaction.answers) messages.push_back({{"role", "tool"}, {"content", answer}});
  if (!messages.empty() && !tools.is_null()) {
    const EnvironmentArgs& args = config.env_config;
    const auto calls =
        ToolCallReader(args.tool_calls, args.tool_pattern, "tool_pattern").read(model_text, tools).attempts;
    for (size_t i = 0; i < std::min(calls.size(), messages.size()); ++i)
      if (calls[i] && may_be_tool(tools, calls[i]->name)) messages[i]["name"] = calls[i]->name;
  }
  if (messages.empty())
    messages.push_back({{"role", "user"}, {"content", turn_text(config, reaction.observation, turn)}});
  return messages;
}

Json first_messages(const EnvironmentConfig& config, const Opening& opening) {
  if (config.has_contexts()) return messages_of_turn(config, opening, {});
  const std::string text = turn_text(config, opening.observation, 0);
  return make_messages(config, opening.instruction.empty() ? text : opening.instruction + "\n" + text);
}

Json messages_of_turn(const EnvironmentConfig& config, const Opening& now, const std::vector<PastTurn>& past) {
  const Values values = template_values(config, now, past);
  return make_messages(config,
                       formatted(config.agent_template, [&](const std::string& name) { return values.at(name); }));
}

}  // namespace roll
