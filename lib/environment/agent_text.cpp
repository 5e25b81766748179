#include "environment/agent_text.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {

namespace {

/// Python's str.format: {name} is replaced, {{ and }} are braces.
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

void check_agent_template(const EnvironmentConfig& config, const std::string& where) {
  formatted(config.agent_template, [&](const std::string& name) {
    for (const char* known : {"observation", "turn_idx", "actions_left", "max_response_length", "suffix"})
      if (name == known) return std::string();
    throw user_error(
        "{}agent_template: {{{}}} is not known; there are {{observation}}, {{turn_idx}}, {{actions_left}}, "
        "{{max_response_length}} and {{suffix}}; braces of the text are doubled",
        where, name);
  });
}

std::string turn_text(const EnvironmentConfig& config, const std::string& observation, int64_t turn) {
  return formatted(config.agent_template, [&](const std::string& name) -> std::string {
    if (name == "observation") return observation;
    if (name == "turn_idx") return std::to_string(turn + 1);
    if (name == "actions_left") return std::to_string(config.max_steps - turn);
    if (name == "max_response_length") return std::to_string(config.max_tokens_per_step);
    return "";
  });
}

Json messages_between(const EnvironmentConfig& config, const Reaction& reaction, int64_t turn) {
  Json messages = Json::array();
  for (const std::string& answer : reaction.answers) messages.push_back({{"role", "tool"}, {"content", answer}});
  if (messages.empty())
    messages.push_back({{"role", "user"}, {"content", turn_text(config, reaction.observation, turn)}});
  return messages;
}

Json first_messages(const EnvironmentConfig& config, const Opening& opening) {
  Json messages = Json::array();
  if (!config.agent_system_template.empty())
    messages.push_back({{"role", "system"}, {"content", config.agent_system_template}});
  const std::string text = turn_text(config, opening.observation, 0);
  messages.push_back(
      {{"role", "user"}, {"content", opening.instruction.empty() ? text : opening.instruction + "\n" + text}});
  return messages;
}

}  // namespace roll
