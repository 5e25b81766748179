// Registry of environment types. To add one, write a file with its Environment and a row in types.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/names.h"

namespace roll {

class Environment;
struct EnvironmentArgs;

struct EnvironmentType {
  const char* name;
  /// `where`: prefix of keys in error messages, "custom_envs.Lake.env_config.". UserError: invalid arguments.
  std::unique_ptr<Environment> (*make)(const EnvironmentArgs& args, const std::string& where);
  bool shows_level = false;    // levels with the same first observation are equal
  bool is_program = false;     // the user's program: slow and not trusted
  bool is_slow = false;        // slow answers: played on threads
  bool is_agent = false;       // asks the policy over HTTP
  bool answers_calls = false;  // messages between turns are tool answers
  /// UserError: this machine lacks what the type needs. null: it needs nothing.
  void (*check)(const EnvironmentArgs& args, const std::string& where) = nullptr;
};

std::span<const EnvironmentType> registry(const EnvironmentType*);

/// Returns what to use instead of an environment of ROLL that is a Python class; "" for other names.
std::string why_foreign(const Chosen<EnvironmentType>&, std::string_view name);

}  // namespace roll
