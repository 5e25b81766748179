// Words of a POSIX shell's command line: quoting them for people to paste, and splitting a line of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// The words with blanks between; what a shell would read otherwise is quoted.
std::string shell_line(const std::vector<std::string>& words);

/// The words of `line`, with '...', "..." and \ as a shell reads them, but no variables, patterns or commands.
/// UserError: a quote is not closed.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace roll
