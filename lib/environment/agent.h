// Environment type `openai`: an external agent, i.e. a program of the user that asks the policy through OpenAI's API
// and posts the reward. For types.cpp. collect/agent_host.h runs the agents; this file only checks their configuration.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Creates a placeholder: reset() returns a fixed text, and step() throws Bug. `where`: prefix of configuration keys in
/// error messages. Throws UserError if neither `command` (the agent's program) nor `api_key` (for agents that run
/// elsewhere) is set.
std::unique_ptr<Environment> make_agent_environment(const EnvironmentArgs& args, const std::string& where);

/// Throws UserError as check_command() (command.h) does, if the agent's program is given.
void check_agent(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
