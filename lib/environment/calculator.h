// Tool `calculator`: arithmetic with + - * / % ** and ( ), with Python's precedence.
#pragma once

#include <memory>
#include <string>

#include "environment/tool.h"

namespace roll {

/// Returns the result: integers without a point, others with up to 15 digits. ToolError: the expression is no
/// arithmetic (names the place), divides by 0, or has no finite result.
std::string calculate(const std::string& expression);

std::unique_ptr<Tool> make_calculator();

}  // namespace roll
