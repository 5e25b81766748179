// Whether a program printed what it should have.
#pragma once

#include <string_view>

namespace roll {

/// Line by line, without blank lines before and behind; in a line the words between blanks are the same, or the same
/// decimal number (1.50, 1.5 and 15e-1; exactly, without rounding).
bool same_output(std::string_view printed, std::string_view expected);

}  // namespace roll
