// Rows of a delimited text as Python's csv.reader finds them, in its default dialect.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll::ifeval {

/// A row for each line, an empty one for an empty line; quotes hold delimiters and line ends, and a doubled quote is
/// one. Nothing where csv.reader raises an error: a carriage return within a line, a field of more than 131072 bytes.
std::optional<std::vector<std::vector<std::string>>> delimited_rows(std::string_view text, char delimiter);

}  // namespace roll::ifeval
