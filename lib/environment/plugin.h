// Environment type `plugin`: a class in a shared library of the user (roll/environment.h). The rules are those of
// programs (command_player.h).
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// An exception of the class fails the level as a crash, and the next level gets a new object. Invalid answers fail
/// like those of programs. UserError: library or name is missing; prepare(): see process/plugin_file.h, or the library
/// uses another C++ standard library.
std::unique_ptr<Environment> make_plugin_environment(const EnvironmentArgs& args, const std::string& where);

/// Checks the library without loading it. UserError: see process/plugin_file.h.
void check_plugin_environment(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
