// Python in the sandbox (sandbox/box.h) as a tool: a program of the model's is run, and what it prints is the answer.
#pragma once

#include <memory>
#include <string>

#include "environment/tool.h"

namespace roll {

/// A call takes at most `timeout_s`. Each thread that calls has a sandbox of its own, from its first call on.
/// ToolError: the program did not end well, with the last that it said.
std::unique_ptr<Tool> make_python_tool(const std::string& python, double timeout_s);

/// UserError "where...": no such Python, or a machine that cannot isolate programs.
void check_python_tool(const std::string& python, const std::string& where);

}  // namespace roll
