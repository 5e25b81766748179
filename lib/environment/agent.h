// Environment type `openai`: an agent, i.e. a program of the user that asks the policy through OpenAI's API. The server
// is collect/agent_host.h.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Creates the environment. A level is only a seed, and is never stepped. UserError: neither a program nor an api_key
/// for agents that run elsewhere.
std::unique_ptr<Environment> make_agent_environment(const EnvironmentArgs& args, const std::string& where);

/// UserError: the program is missing or not executable.
void check_agent(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
