// Registry of environment types, the values of the key env_type. To add a type, write a file with its Environment class
// and add a row in types.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/names.h"

namespace roll {

class Environment;
struct EnvironmentArgs;

/// A row of the registry.
struct EnvironmentType {
  const char* name;  // value of env_type
  /// Creates an environment. `where`: prefix of configuration keys in error messages, such as
  /// "custom_envs.Lake.env_config.". Throws UserError if `args` are invalid for this type.
  std::unique_ptr<Environment> (*make)(const EnvironmentArgs& args, const std::string& where);
  bool shows_level = false;    // levels with equal first observations are equal
  bool is_program = false;     // played by programs of the user (collect/program_driver.h)
  bool is_slow = false;        // may answer slowly, so it is played on threads (collect/environment_threads.h)
  bool is_agent = false;       // played by external agents, which ask the policy over HTTP (collect/agent_host.h)
  bool answers_calls = false;  // the messages between turns are tool answers, not user messages
  /// Throws UserError if files, programs or abilities of this machine that the type needs are missing. Null: the type
  /// needs none.
  void (*check)(const EnvironmentArgs& args, const std::string& where) = nullptr;
};

/// Returns all types. The parameter only selects this overload; pass null.
std::span<const EnvironmentType> registry(const EnvironmentType*);

/// Explains an unknown value of env_type: if `name` is an environment of ROLL that roll does not have, returns what to
/// use instead; "" for other names.
std::string why_foreign(const Chosen<EnvironmentType>&, std::string_view name);

}  // namespace roll
