// Environment type `tools`: the model answers a question and may call built-in tools (tool.h) first. The calls of a
// turn are answered one after the other; the first turn without calls must hold the answer, and ends the level.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Creates the environment. The model's answer is the text of action_pattern's last group. The reward is 1 if it is
/// right (is_answer() in questions.h), 0 if it is wrong, or format_penalty if there is none; turns with calls have
/// reward 0. A call that is invalid, or has an unknown tool or wrong arguments, is answered "Error: ..." and counted as
/// an error. `where`: prefix of configuration keys in error messages. Throws UserError if there are no tools, a file of
/// questions or documents cannot be read, min_number is above max_number, or a pattern is invalid.
std::unique_ptr<Environment> make_tool_use(const EnvironmentArgs& args, const std::string& where);

/// Throws UserError if `python` is one of the tools, and there is no such Python or this machine cannot isolate
/// programs.
void check_tool_use(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
