// Quotes and splits command lines of a POSIX shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Joins words with blanks; quotes words with characters that are special to a shell.
std::string shell_line(const std::vector<std::string>& words);

/// Splits `line` into words, with '...', "..." and \ as in a shell, but without variables, patterns or commands.
/// UserError: a quote is not closed.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace roll
