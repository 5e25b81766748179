// Row readers for JSON lines, JSON arrays and CSV.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "data/row_reader.h"

namespace roll {

/// `in` is positioned in line `line`, before its first non-blank. UserError: the content is not JSON lines.
std::unique_ptr<RowReader> read_json_lines(std::unique_ptr<std::istream> in, const std::string& file, int64_t line);

/// `in` is positioned after the opening bracket of the array.
std::unique_ptr<RowReader> read_json_array(std::unique_ptr<std::istream> in, const std::string& file);

/// Reads a table whose first line names the columns (RFC 4180: quoted fields may hold commas, line breaks and doubled
/// quotes). Values are strings; an empty unquoted field is null. UserError: a column name is empty or repeated.
std::unique_ptr<RowReader> read_csv(std::unique_ptr<std::istream> in, const std::string& file, char separator);

}  // namespace roll
