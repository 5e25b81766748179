// Writes the texts of an environment as chat messages, lists of {role, content}, for collect/turn_source.h and
// train/environment_rows.h. If EnvironmentConfig::has_contexts(), each turn gets a new prompt that shows the last
// turns; otherwise all turns are one conversation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

/// Throws UserError if config.agent_template names an unknown {field}; which fields there are depends on
/// has_contexts(). `where`: prefix of the configuration key in the message.
void check_agent_template(const EnvironmentConfig& config, const std::string& where);

/// Returns the messages of a level's first prompt: the system message, if one is configured, and a user message with
/// instruction and observation. Call check_agent_template() first, here and below.
Json first_messages(const EnvironmentConfig& config, const Opening& opening);

/// A finished turn, as shown in later prompts.
struct PastTurn {
  std::string observation;  // before the turn
  std::string action;       // the model's action, or its whole message
  bool is_valid = true;     // the environment understood the action
  double reward = 0;
};
/// Returns the messages of a turn's prompt, if has_contexts(). `now`: the level's instruction and the current
/// observation. `past`: all earlier turns, oldest first; the last history_length - 1 are shown.
Json messages_of_turn(const EnvironmentConfig& config, const Opening& now, const std::vector<PastTurn>& past);

/// Returns the messages that follow a turn of the model in a conversation: one per tool answer of `reaction`, or, if it
/// has none, a user message with the observation. `turn`: number of the model's turns so far, at least 1. `model_text`:
/// the model's last turn; each tool message gets the name of the tool called there. `tools`: tool schemas; null: no
/// names are added.
Json messages_between(const EnvironmentConfig& config, const Reaction& reaction, int64_t turn,
                      const std::string& model_text, const Json& tools);

/// Returns the text of the user message with `observation`: config.agent_template with its fields replaced. For
/// conversations only. `turn`: number of the model's turns so far, from 0.
std::string turn_text(const EnvironmentConfig& config, const std::string& observation, int64_t turn);

}  // namespace roll
