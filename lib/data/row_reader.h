// Reads data files row by row in bounded memory: JSON lines, JSON arrays and CSV, plain or compressed (gzip, zstd), and
// Parquet. The format is detected from the content; CSV from the file name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/json.h"

namespace roll {

/// Error: a row is malformed, but later rows can still be read.
struct BadRow : UserError {
  using UserError::UserError;
};

/// Iterates over the rows of a file.
class RowReader {
 public:
  virtual ~RowReader() = default;

  /// Reads the next row, a JSON object; returns false at the end. Throws BadRow "file:N: ..." if the row is malformed,
  /// another UserError if the file cannot be read further.
  virtual bool next(Json& row) = 0;
  /// Returns the position of the row that next() read last: in JSON lines and CSV the number of its first line, else
  /// its number; both count from 1.
  virtual int64_t number() const = 0;
};

/// Estimates the bytes of memory that a value uses.
size_t num_bytes(const Json& value);

/// Opens a file; the reader is at the first row. Throws UserError if the file is missing or damaged, its format needs
/// Apache Arrow, which is missing (arrow_library.h), or its decompressed content is implausibly large (next() may throw
/// this, too).
std::unique_ptr<RowReader> open_rows(const std::filesystem::path& file);

}  // namespace roll
