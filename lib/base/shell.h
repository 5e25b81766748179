// Quotes and splits command lines of a POSIX shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Returns one command line of these words, joined by blanks. Words with characters that are special to a shell are put
/// in single quotes, so that a shell splits the line into the same words again.
std::string shell_line(const std::vector<std::string>& words);

/// Splits `line` into words, with '...', "..." and \ as in a shell, but without variables, patterns or commands. Throws
/// UserError if a quote is not closed.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace roll
