// An environment that is a class in a shared library of the user's (roll/environment.h). The rules are those of
// programs (command_player.h).
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// An exception of the class is a crash of the level, and its object is made again at the next; answers against the
/// rules are failures of the same kinds as those of programs. UserError: no library or name; prepare(): those of
/// process/plugin_file.h, and another C++ library than this program's.
std::unique_ptr<Environment> make_plugin_environment(const EnvironmentArgs& args, const std::string& where);

/// Without loading it. UserError: those of process/plugin_file.h.
void check_plugin_environment(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
