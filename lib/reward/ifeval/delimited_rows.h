// Parses delimited text (CSV, TSV) like Python's csv.reader in its default dialect, for the checks of response formats
// in ifbench_formats.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll::ifeval {

/// Returns one row of fields per line; an empty line gives a row without fields. In double quotes, delimiters and line
/// ends belong to the field, and "" is a quote. Returns nullopt for a carriage return inside a line or a field of more
/// than 131072 bytes, where csv.reader raises an error.
std::optional<std::vector<std::vector<std::string>>> delimited_rows(std::string_view text, char delimiter);

}  // namespace roll::ifeval
