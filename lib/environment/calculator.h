// Arithmetic on numbers as a tool: + - * / % ** and ( ), with Python's precedence.
#pragma once

#include <memory>
#include <string>

#include "environment/tool.h"

namespace roll {

/// Whole results are written without a point, others with up to 15 digits. ToolError: no arithmetic (with the place), a
/// division by 0, a result that is no number.
std::string calculate(const std::string& expression);

std::unique_ptr<Tool> make_calculator();

}  // namespace roll
