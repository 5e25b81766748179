// Loads Apache Arrow's C++ libraries, which read Parquet and compressed files. Only libroll_arrow.so links them. It is
// loaded when the first such file is opened, so that other processes save 60 MB of libraries.
#pragma once

#include <memory>
#include <string>

#include "data/row_reader.h"

namespace roll {

/// A decompressed stream of bytes.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Reads up to `size` bytes; returns 0 only at the end. UserError: the file is damaged.
  virtual size_t read(char* out, size_t size) = 0;
};

/// Functions that libroll_arrow.so exports as the object `roll_arrow_library`.
struct ArrowLibrary {
  /// UserError: the file is damaged or encrypted, or has an unsupported column type.
  std::unique_ptr<RowReader> (*open_parquet)(const std::string& file);
  /// `codec`: gzip or zstd. UserError: the file is damaged.
  std::unique_ptr<ByteStream> (*open_compressed)(const std::string& file, const char* codec);
};

/// Loads the library. UserError "file: ...", with the remedy: it cannot be loaded.
const ArrowLibrary& arrow_library(const std::string& file);

}  // namespace roll
