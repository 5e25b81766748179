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
std::string formatted(const std::string& text, const F& value_of) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_double = i + 1 < text.size() && text[i + 1] == text[i];
    if (text[i] == '{' && !is_double) {
      const size_t end = text.find('}', i);
      if (end == std::string::npos) return out + text.substr(i);
      out += value_of(text.substr(i + 1, end - i - 1));
      i = end;
      continue;
    }
    out += text[i];
    if (is_double && (text[i] == '{' || text[i] == '}')) ++i;
  }
  return out;
}

}  // namespace

namespace {

std::string told(const PastTurn& turn, int64_t number) {
  return fmt::format("Turn {} showed:\n{}\nYou answered: {}{}\nReward: {}", number, turn.observation, turn.action,
                     turn.is_valid ? "" : " (no valid action: keep to the output format)", turn.reward);
}

/// Returns the text of the last `count` turns.
std::string history_of(const std::vector<PastTurn>& past, int64_t count, EnvManager manager) {
  std::vector<std::string> texts;
  for (int64_t k = std::ssize(past) - count; k < std::ssize(past); ++k)
    texts.push_back(manager == EnvManager::kSteps ? told(past[k], k + 1) : past[k].observation);
  return fmt::format("{}", fmt::join(texts, "\n"));
}

using Values = std::map<std::string, std::string>;

/// Returns the values that agent_template may name after `num_turns` turns.
Values values_of(const EnvironmentConfig& config, const std::string& observation, int64_t num_turns) {
  return {{"observation", observation},
          {"turn_idx", std::to_string(num_turns + 1)},
          {"actions_left", std::to_string(config.max_steps - num_turns)},
          {"max_response_length", std::to_string(config.max_tokens_per_step)},
          {"suffix", ""}};
}

Values values_of(const EnvironmentConfig& config, const Opening& now, const std::vector<PastTurn>& past) {
  const int64_t num_turns = std::ssize(past), num_told = std::min(num_turns, config.history_length - 1);
  Values values = values_of(config, now.observation, num_turns);
  values.insert({{"env_instruction", now.instruction},
                 {"history", history_of(past, num_told, config.manager().value())},
                 {"history_length", std::to_string(num_told)},
                 {"step_count", std::to_string(num_turns)},
                 {"current_step", std::to_string(num_turns + 1)},
                 {"current_observation", now.observation}});
  return values;
}

Json messages_of(const EnvironmentConfig& config, const std::string& text) {
  Json messages = Json::array();
  if (const std::string system = config.agent_system_template.value_or(""); !system.empty())
    messages.push_back({{"role", "system"}, {"content", system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  return messages;
}

}  // namespace

void check_agent_template(const EnvironmentConfig& config, const std::string& where) {
  const Values known = config.has_contexts() ? values_of(config, Opening(), {}) : values_of(config, "", 0);
  formatted(config.agent_template, [&](const std::string& name) -> std::string {
    if (known.contains(name)) return "";
    std::vector<std::string> names;
    for (const auto& [own, value] : known) names.push_back("{" + own + "}");
    throw user_error("{}agent_template: {{{}}} is not known; there are {}; braces of the text are doubled", where, name,
                     fmt::join(names, ", "));
  });
}

std::string turn_text(const EnvironmentConfig& config, const std::string& observation, int64_t turn) {
  const Values values = values_of(config, observation, turn);
  return formatted(config.agent_template, [&](const std::string& name) { return values.at(name); });
}

Json messages_between(const EnvironmentConfig& config, const Reaction& reaction, int64_t turn, const std::string& said,
                      const Json& tools) {
  Json messages = Json::array();
  for (const std::string& answer : reaction.answers) messages.push_back({{"role", "tool"}, {"content", answer}});
  if (!messages.empty() && !tools.is_null()) {
    const EnvironmentArgs& args = config.env_config;
    const auto calls = ToolCallReader(args.tool_calls, args.tool_pattern, "tool_pattern").read(said, tools).attempts;
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
  return messages_of(config, opening.instruction.empty() ? text : opening.instruction + "\n" + text);
}

Json messages_of_turn(const EnvironmentConfig& config, const Opening& now, const std::vector<PastTurn>& past) {
  const Values values = values_of(config, now, past);
  return messages_of(config,
                     formatted(config.agent_template, [&](const std::string& name) { return values.at(name); }));
}

}  // namespace roll
