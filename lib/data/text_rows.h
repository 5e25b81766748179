// Row readers for JSON lines, JSON arrays and CSV, for open_rows() (row_reader.h), which detects the format. `file`:
// name of the file, for errors.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "data/row_reader.h"

namespace roll {

/// Reads one JSON object per line; skips blank lines. `in` must be at the first character that is not blank, which is
/// in line `line` (from 1). Throws UserError if the first line shows another format, such as HTML.
std::unique_ptr<RowReader> read_json_lines(std::unique_ptr<std::istream> in, const std::string& file, int64_t line);

/// Reads the objects of a JSON array. `in` must be just after the opening bracket.
std::unique_ptr<RowReader> read_json_array(std::unique_ptr<std::istream> in, const std::string& file);

/// Reads a table whose first line names the columns (RFC 4180: quoted fields may hold commas, line breaks and doubled
/// quotes). `in` must be at its beginning. Values are strings; an empty unquoted field is null. Throws UserError if a
/// column name is empty or repeated.
std::unique_ptr<RowReader> read_csv(std::unique_ptr<std::istream> in, const std::string& file, char separator);

}  // namespace roll
