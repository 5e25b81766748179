// Environment type `python`: a class in a Python file of the user, which our program python_class.py plays as one of
// type `command`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "environment/types.h"

namespace roll {

/// UserError: `python_class` names no class.
std::unique_ptr<Environment> make_python_environment(const EnvironmentArgs& args, const std::string& where);

/// UserError: the file is missing; see also check_command().
void check_python_environment(const EnvironmentArgs& args, const std::string& where);

/// Returns the program that the Python interpreter runs.
std::string_view python_class_text();

}  // namespace roll
