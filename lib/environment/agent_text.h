// Turns what an environment shows into chat messages, for TurnSource and train/environment_rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

/// UserError "<where>agent_template": it has a {name} that config.h does not list.
void check_agent_template(const EnvironmentConfig& config, const std::string& where);

/// Returns [{"role": "system", ...}, {"role": "user", ...}] for the beginning of a level.
Json first_messages(const EnvironmentConfig& config, const Opening& opening);

/// A finished turn, as shown to later ones.
struct PastTurn {
  std::string observation, action;
  bool is_valid = true;
  double reward = 0;
};
/// Returns the messages of a turn with its own context, which shows the last of the `past` turns.
Json messages_of_turn(const EnvironmentConfig& config, const Opening& now, const std::vector<PastTurn>& past);

/// Returns the messages after turn number `turn` of the model, in which it wrote `model_text`: the tool answers, each
/// with its tool's name if `tools` has it (schemas; null: unknown), or the user's message.
Json messages_between(const EnvironmentConfig& config, const Reaction& reaction, int64_t turn,
                      const std::string& model_text, const Json& tools);

/// Returns the user's message after `turn` turns of the model.
std::string turn_text(const EnvironmentConfig& config, const std::string& observation, int64_t turn);

}  // namespace roll
