#include "environment/agent.h"

#include "base/error.h"
#include "environment/command.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

namespace {

class AgentEnvironment : public Environment {
 public:
  Opening reset(uint64_t /*seed*/) override { return {.instruction = "", .observation = "an agent's session"}; }
  Reaction step(const std::string& /*message*/) override { throw Bug("an agent asks, and is not asked"); }
};

}  // namespace

void check_agent(const EnvironmentArgs& args, const std::string& where) {
  if (!args.command.empty()) check_command(args, where);
}

std::unique_ptr<Environment> make_agent_environment(const EnvironmentArgs& args, const std::string& where) {
  const bool has_program = !args.command.empty() && !args.command[0].empty();
  if (!has_program && args.api_key.text.empty())
    throw user_error(
        "{}command: missing; give the agent's program and its arguments as a list, or an api_key for agents that run "
        "elsewhere",
        where);
  return std::make_unique<AgentEnvironment>();
}

}  // namespace roll
