// An environment that is a program of the user which asks: an agent, for whom the policy is a server of OpenAI's API.
// Who serves it: collect/agent_host.h.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Its levels are seeds, all else is the agent's; it is never stepped. UserError: neither a program nor a key for
/// agents that run elsewhere.
std::unique_ptr<Environment> make_agent_environment(const EnvironmentArgs& args, const std::string& where);

/// UserError: a program that is not there, or may not be executed.
void check_agent(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
