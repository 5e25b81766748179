#include "environment/types.h"

#include "environment/agent.h"
#include "environment/command.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "environment/frozen_lake.h"
#include "environment/guess_the_number.h"
#include "environment/plugin.h"
#include "environment/python_class.h"
#include "environment/sokoban.h"
#include "environment/tool_use.h"

namespace roll {

std::span<const EnvironmentType> registry(const EnvironmentType*) {
  static constexpr EnvironmentType kTypes[] = {
      {.name = "frozen_lake", .make = make_frozen_lake, .shows_level = true},
      {.name = "sokoban", .make = make_sokoban, .shows_level = true},
      {.name = "guess_the_number", .make = make_guess_the_number},
      {.name = "command", .make = make_command_environment, .is_program = true, .check = check_command},
      {.name = "python", .make = make_python_environment, .is_program = true, .check = check_python_environment},
      {.name = "plugin", .make = make_plugin_environment, .is_slow = true, .check = check_plugin_environment},
      {.name = "openai", .make = make_agent_environment, .is_agent = true, .check = check_agent},
      {.name = "tools",
       .make = make_tool_use,
       .shows_level = true,
       .is_slow = true,
       .answers_calls = true,
       .check = check_tool_use},
  };
  return kTypes;
}

std::optional<EnvManager> EnvironmentConfig::manager() const {
  if (!env_manager_cls) return EnvManager::kTurns;
  EnvManager found{};
  if (!Words<EnvManager>::read(env_manager_cls->substr(env_manager_cls->rfind('.') + 1), found)) return std::nullopt;
  return found;
}

std::unique_ptr<Environment> make_environment(const EnvironmentConfig& config, const std::string& tag) {
  return config.env_type->make(config.env_config, "custom_envs." + tag + ".env_config.");
}

}  // namespace roll
