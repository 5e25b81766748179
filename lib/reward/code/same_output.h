// Compares a program's standard output with the expected output, for code_judge.h.
#pragma once

#include <string_view>

namespace roll {

/// Returns whether both texts are equal line by line, ignoring white space at both ends of the texts and of each line.
/// Lines are compared word by word: two words are equal if they are the same text or the same decimal number (1.50, 1.5
/// and 15e-1). A number may also differ from the expected number e by up to `tolerance` x max(1, |e|), unless both are
/// written as integers.
bool same_output(std::string_view printed, std::string_view expected, double tolerance = 0);

}  // namespace roll
