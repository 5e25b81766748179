// Environment type `python`: a Python class of the user. It is played like type `command` (command.h): the program is
// roll's own python_class.py, which imports the class and answers the questions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "environment/types.h"

namespace roll {

/// Creates the environment. `where`: prefix of configuration keys in error messages. Throws UserError if the key
/// python_class is missing or malformed, or command or addresses is set, too.
std::unique_ptr<Environment> make_python_environment(const EnvironmentArgs& args, const std::string& where);

/// Throws UserError if python_class is invalid or names a file that is missing, or if check_command() fails.
void check_python_environment(const EnvironmentArgs& args, const std::string& where);

/// Returns the source text of python_class.py, which is part of the binary.
std::string_view python_class_text();

}  // namespace roll
