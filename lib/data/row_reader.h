// Reads data files row by row in bounded memory: JSON lines, JSON arrays and CSV, plain or compressed (gzip, zstd), and
// Parquet. The format is detected from the content; CSV from the file name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/json.h"

namespace roll {

/// The row is malformed; later rows can still be read.
struct BadRow : UserError {
  using UserError::UserError;
};

/// Iterates over the rows of a file.
class RowReader {
 public:
  virtual ~RowReader() = default;

  /// Reads the next row, a JSON object; false at the end. BadRow "file:N: ...": the row is malformed. UserError: the
  /// file cannot be read further.
  virtual bool next(Json& row) = 0;
  /// Returns the position of the last row, from 1: its first line in line-based files, else its index.
  virtual int64_t number() const = 0;
};

/// Estimates a value's memory.
size_t num_bytes(const Json& value);

/// Opens a file. UserError: it is missing, damaged or of unknown format; Apache Arrow is needed but missing
/// (arrow_library.h); the content is implausibly larger than the file (also thrown by next()).
std::unique_ptr<RowReader> open_rows(const std::filesystem::path& file);

}  // namespace roll
