// Questions that are answered with tools: a turn that calls some is answered by them, one after the other; the first
// that calls none holds the answer.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// 1 for the right answer in action_pattern's last group, else 0; format_penalty where there is none, which ends the
/// level too. A call that is none, of a tool that is not there, or with other arguments is answered by "Error: ...",
/// and counted. UserError: no tools or one that is not known, a file that cannot be read, expressions that do not
/// compile.
std::unique_ptr<Environment> make_tool_use(const EnvironmentArgs& args, const std::string& where);

/// UserError: a machine whose programs cannot be isolated, where Python is one of the tools.
void check_tool_use(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
