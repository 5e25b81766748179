// Tool `python` for environments of type `tools`: runs a Python program that the model wrote in a sandbox
// (sandbox/box.h); its output is the answer.
#pragma once

#include <memory>
#include <string>

#include "environment/tool.h"

namespace roll {

/// Creates the tool. `python`: path of a Python interpreter, or a name on PATH. `timeout_s`: most seconds of a call.
/// Each thread gets its own sandbox at its first call. A call throws ToolError if the program fails (with the end of
/// its error output) or exceeds a limit of time, memory or output. It throws EnvironmentFailed if no sandbox can be
/// started.
std::unique_ptr<Tool> make_python_tool(const std::string& python, double timeout_s);

/// Throws UserError if there is no such Python, or this machine cannot isolate programs. `where`: prefix of the
/// configuration key in the message.
void check_python_tool(const std::string& python, const std::string& where);

}  // namespace roll
