// Rows in texts.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "data/row_reader.h"

namespace roll {

/// `in` stands in line `line`, at its beginning or behind blanks. UserError: what is there is another format's.
std::unique_ptr<RowReader> read_json_lines(std::unique_ptr<std::istream> in, const std::string& file, int64_t line);

/// `in` stands behind the bracket that opens the array.
std::unique_ptr<RowReader> read_json_array(std::unique_ptr<std::istream> in, const std::string& file);

/// A table whose first line names the columns (RFC 4180: fields in quotes hold commas, lines and doubled quotes).
/// Values are strings; nothing between two commas is null. UserError: a header with an empty or repeated name.
std::unique_ptr<RowReader> read_csv(std::unique_ptr<std::istream> in, const std::string& file, char separator);

}  // namespace roll
