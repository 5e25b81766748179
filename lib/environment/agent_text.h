// What an environment shows, as the messages that a model is shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

/// UserError "where agent_template": a {name} that is none of those in config.h.
void check_agent_template(const EnvironmentConfig& config, const std::string& where);

/// [{"role": "system", ...}, {"role": "user", ...}] of a level that begins.
Json first_messages(const EnvironmentConfig& config, const Opening& opening);

/// A turn that is over, as later ones are told of it.
struct PastTurn {
  std::string observation, action;
  bool is_valid = true;
  double reward = 0;
};
/// Likewise of a turn with a context of its own, which is shown the last of those before it.
Json messages_of_turn(const EnvironmentConfig& config, const Opening& now, const std::vector<PastTurn>& past);

/// What lies behind `turn` turns of the model, of which the last said `said`: the answers of tools, by name where the
/// call was of one of `tools` (schemas; null: they are not known), or the user's message.
Json messages_between(const EnvironmentConfig& config, const Reaction& reaction, int64_t turn, const std::string& said,
                      const Json& tools);

/// The user's message after `turn` turns of the model.
std::string turn_text(const EnvironmentConfig& config, const std::string& observation, int64_t turn);

}  // namespace roll
