// Compares the output of a program with the expected output (code_judge.h).
#pragma once

#include <string_view>

namespace roll {

/// Returns whether both are equal line by line, ignoring blank lines at both ends. Lines are compared word by word: the
/// same text or the same exact decimal number (1.50, 1.5 and 15e-1). With a tolerance, numbers may differ by it
/// absolutely, or relative to the expected one, unless both are written as integers.
bool same_output(std::string_view printed, std::string_view expected, double tolerance = 0);

}  // namespace roll
