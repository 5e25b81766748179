// Environment type `tools`: questions to answer with tools. The calls of a turn are answered one after the other; the
// first turn without calls holds the answer.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Reward 1 for the right answer in action_pattern's last group, else 0; format_penalty if there is none, which ends
/// the level, too. An invalid call, one of an unknown tool or with other arguments is answered "Error: ...", and
/// counted. UserError: no tools, a file that cannot be read, or a pattern that does not compile.
std::unique_ptr<Environment> make_tool_use(const EnvironmentArgs& args, const std::string& where);

/// UserError: Python is one of the tools, and this machine cannot isolate programs.
void check_tool_use(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
