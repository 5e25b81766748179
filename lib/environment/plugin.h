// Environment type `plugin`: a C++ class in a shared library of the user (roll/environment.h), called in this process.
// For types.cpp. The answers of the class are checked like those of programs (command_player.h).
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Creates the environment; prepare() or the first reset() loads the library. If the class throws, EnvironmentFailed
/// (kCrash) is thrown; if its answer is invalid, EnvironmentFailed as for programs. The next level then gets a new
/// object. `where`: prefix of configuration keys in error messages. Throws UserError if the key library or name is
/// missing; prepare() throws UserError if the library cannot be loaded (process/plugin_file.h) or uses another C++
/// standard library.
std::unique_ptr<Environment> make_plugin_environment(const EnvironmentArgs& args, const std::string& where);

/// Checks the library file without loading it. Throws UserError if it is unusable (process/plugin_file.h).
void check_plugin_environment(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
