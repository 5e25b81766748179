// Parses delimited text (CSV, TSV) like Python's csv.reader in its default dialect, for ifbench_formats.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll::ifeval {

/// Returns one row per line, empty for an empty line. Quotes protect delimiters and line ends; a doubled quote is a
/// literal quote. nullopt if csv.reader raises an error: a carriage return inside a line, or a field over 131072 bytes.
std::optional<std::vector<std::vector<std::string>>> delimited_rows(std::string_view text, char delimiter);

}  // namespace roll::ifeval
