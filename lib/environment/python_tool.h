// Tool `python`: runs a Python program of the model in a sandbox (sandbox/box.h); its output is the answer.
#pragma once

#include <memory>
#include <string>

#include "environment/tool.h"

namespace roll {

/// A call takes at most `timeout_s`. Each calling thread gets its own sandbox at its first call. ToolError: the program
/// failed; the message is the end of its error output.
std::unique_ptr<Tool> make_python_tool(const std::string& python, double timeout_s);

/// UserError, starting with `where`: there is no such Python, or this machine cannot isolate programs.
void check_python_tool(const std::string& python, const std::string& where);

}  // namespace roll
