// Files of data rows, row by row in bounded memory: JSON lines, JSON arrays and CSV, plain or compressed by gzip or
// zstd, and Parquet. What a file is says its beginning; of a table, its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/json.h"

namespace roll {

/// What is there is no row; those behind it can be read all the same.
struct BadRow : UserError {
  using UserError::UserError;
};

class RowReader {
 public:
  virtual ~RowReader() = default;

  /// The next row, an object, into `row`; false behind the last one. BadRow "file:N: ...". UserError: the file cannot
  /// be read any further.
  virtual bool next(Json& row) = 0;
  /// Of the row that next() gave or refused, from 1: in a text its first line, elsewhere its place among the rows.
  virtual int64_t number() const = 0;
};

/// Roughly what a value takes in memory.
size_t num_bytes(const Json& value);

/// UserError, also later by next(): the content is far larger than the file, as that of no data set. UserError: no such
/// file, no format that is known, damaged; Apache Arrow is not here for one that needs it
/// (arrow_library.h).
std::unique_ptr<RowReader> open_rows(const std::filesystem::path& file);

}  // namespace roll
