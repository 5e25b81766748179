// Compares the output of a program with the expected one.
#pragma once

#include <string_view>

namespace roll {

/// Whether both are equal line by line, without blank lines before and behind; in a line the words between blanks are
/// the same, or the same decimal number (1.50, 1.5 and 15e-1; exactly, without rounding).
bool same_output(std::string_view printed, std::string_view expected);

}  // namespace roll
