// An environment that is a class in a Python file of the user's: played by a program of ours (python_class.py) as one
// of type command.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "environment/types.h"

namespace roll {

/// UserError: `python_class` names no class.
std::unique_ptr<Environment> make_python_environment(const EnvironmentArgs& args, const std::string& where);

/// UserError: a file that is not there, and as check_command().
void check_python_environment(const EnvironmentArgs& args, const std::string& where);

/// What the interpreter runs.
std::string_view python_class_text();

}  // namespace roll
