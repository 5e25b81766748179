#include "environment/types.h"

#include "environment/command.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "environment/frozen_lake.h"
#include "environment/guess_the_number.h"
#include "environment/sokoban.h"

namespace roll {

std::span<const EnvironmentType> rows_of(const EnvironmentType*) {
  static constexpr EnvironmentType kTypes[] = {
      {.name = "frozen_lake", .make = make_frozen_lake, .shows_level = true},
      {.name = "sokoban", .make = make_sokoban, .shows_level = true},
      {.name = "guess_the_number", .make = make_guess_the_number},
      {.name = "command", .make = make_command_environment, .is_program = true},
  };
  return kTypes;
}

std::unique_ptr<Environment> make_environment(const EnvironmentConfig& config, const std::string& tag) {
  return config.env_type->make(config.env_config, "custom_envs." + tag + ".env_config.");
}

}  // namespace roll
