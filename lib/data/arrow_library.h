// Apache Arrow's C++ libraries, which read Parquet and compressed files. They are linked with a library of their own,
// libroll_arrow.so beside the program, that is loaded where such a file is named first: other processes are spared 60
// MB of libraries.
#pragma once

#include <memory>
#include <string>

#include "data/row_reader.h"

namespace roll {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Up to `size` bytes; 0 only at the end. UserError: damaged.
  virtual size_t read(char* out, size_t size) = 0;
};

/// What that library exports, as the object `roll_arrow_library`.
struct ArrowLibrary {
  /// UserError: damaged, encrypted, a column that no row can hold.
  std::unique_ptr<RowReader> (*open_parquet)(const std::string& file);
  /// `codec`: gzip or zstd. UserError.
  std::unique_ptr<ByteStream> (*open_compressed)(const std::string& file, const char* codec);
};

/// Loads it. UserError "file: ...", with the remedy, where it cannot be.
const ArrowLibrary& arrow_library(const std::string& file);

}  // namespace roll
