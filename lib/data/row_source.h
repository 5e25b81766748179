// Row sources for tools that read rows unparsed, such as `roll score`.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "base/json.h"

namespace roll {

/// Passes all rows to `take`, in order; `origin` is "file:line". UserError: a row is malformed.
using RowSource = std::function<void(const std::function<void(const Json& row, const std::string& origin)>& take)>;

/// Reads JSON lines from a stream, which must outlive the source.
RowSource json_lines(std::istream& in, const std::string& origin);

/// Reads a file with open_rows(). Unless the first row satisfies `has_roll_columns`, recognises the layout
/// (row_columns.h), reports it to `note` and renames columns to roll's own.
RowSource read_row_file(const std::filesystem::path& file, const std::function<bool(const Json& row)>& has_roll_columns,
                        const std::function<void(const std::string& text)>& note);

}  // namespace roll
