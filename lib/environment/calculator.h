// Tool `calculator` for environments of type `tools`: arithmetic on floating-point numbers with + - * / % ** and ( ),
// with Python's precedence.
#pragma once

#include <memory>
#include <string>

#include "environment/tool.h"

namespace roll {

/// Returns the result as text: whole numbers without a decimal point, others with up to 15 digits. Throws ToolError if
/// the expression is not arithmetic (the error names the place), divides by 0, or has no finite result.
std::string calculate(const std::string& expression);

/// Returns the tool, which answers calls by calculate().
std::unique_ptr<Tool> make_calculator();

}  // namespace roll
