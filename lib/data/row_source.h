// Rows for tools that read a row as it stands, from whatever rows are read from.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "base/json.h"

namespace roll {

/// Gives all rows to `take`, in order; `where` is a row's "file:line". UserError: what is there is no row.
using RowSource = std::function<void(const std::function<void(const Json& row, const std::string& where)>& take)>;

/// JSON lines of a stream, which must outlive it.
RowSource json_lines(std::istream& in, const std::string& origin);

/// A file that open_rows() reads. Unless its first row `is_own`, the file's layout is recognised (row_columns.h): then
/// `note` hears of it, and rows come in this program's columns.
RowSource rows_of_file(const std::filesystem::path& file, const std::function<bool(const Json& row)>& is_own,
                       const std::function<void(const std::string& text)>& note);

}  // namespace roll
