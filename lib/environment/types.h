// The registry of environments. One more is a file with its Environment and a row in types.cpp.
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
  /// `where` stands before a key in error messages: "custom_envs.Lake.env_config.". UserError: arguments that are no
  /// use.
  std::unique_ptr<Environment> (*make)(const EnvironmentArgs& args, const std::string& where);
  bool shows_level = false;    // levels that begin with one observation are the same
  bool is_program = false;     // of the user: slow, and trusted with nothing
  bool is_slow = false;        // its answers take time: they are made by threads of their own
  bool is_agent = false;       // it asks the policy, over HTTP
  bool answers_calls = false;  // what it says between turns are tools' answers
  /// UserError: this machine lacks what it needs; null: it needs nothing.
  void (*check)(const EnvironmentArgs& args, const std::string& where) = nullptr;
};

std::span<const EnvironmentType> rows_of(const EnvironmentType*);

/// What is there in place of an environment of ROLL's that is a Python class; "" of other names.
std::string why_foreign(const Chosen<EnvironmentType>&, std::string_view name);

}  // namespace roll
