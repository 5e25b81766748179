// Compares the output of a program with the expected one.
#pragma once

#include <string_view>

namespace roll {

/// Whether both are equal line by line, without blank lines before and behind; in a line the words between blanks are
/// the same, or the same decimal number (1.50, 1.5 and 15e-1; exactly, without rounding). With a tolerance also two
/// numbers that differ by at most it, or by at most it times the expected one, unless both are written as whole ones.
bool same_output(std::string_view printed, std::string_view expected, double tolerance = 0);

}  // namespace roll
