// Row sources for tools that read rows as JSON objects, not as checked Rows, such as `roll score`.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "base/json.h"

namespace roll {

/// A source is a function that passes all rows to `take`, in order; `origin` is "file:line" of the row. It throws
/// UserError if a row is malformed.
using RowSource = std::function<void(const std::function<void(const Json& row, const std::string& origin)>& take)>;

/// Reads JSON lines from a stream, which must outlive the source; it can be called once. `origin`: name of the stream.
RowSource json_lines(std::istream& in, const std::string& origin);

/// Reads a file by open_rows(). If has_roll_columns(first row) is false and recognise_layout() finds a layout, passes a
/// line about it to `note` and renames the columns of all rows to roll's own (own_columns()).
RowSource read_row_file(const std::filesystem::path& file, const std::function<bool(const Json& row)>& has_roll_columns,
                        const std::function<void(const std::string& text)>& note);

}  // namespace roll
