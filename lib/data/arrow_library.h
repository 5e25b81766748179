// Loads libroll_arrow.so, our only library that links Apache Arrow, for open_rows() (data/row_reader.h) to read Parquet
// and compressed files. It is loaded when the first such file is opened, so that other processes save 60 MB.
#pragma once

#include <memory>
#include <string>

#include "data/row_reader.h"

namespace roll {

/// The decompressed bytes of a file, from its beginning.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Writes the next bytes, up to `size`, to `out` and returns their number; 0 only at the end. Throws UserError if the
  /// file is damaged.
  virtual size_t read(char* out, size_t size) = 0;
};

/// Functions that libroll_arrow.so exports as the object `roll_arrow_library`. `file`: path of the data file.
struct ArrowLibrary {
  /// Throws UserError if the file is damaged or encrypted, or has an unsupported column type.
  std::unique_ptr<RowReader> (*open_parquet)(const std::string& file);
  /// `codec`: "gzip" or "zstd". Throws UserError if the file is damaged.
  std::unique_ptr<ByteStream> (*open_compressed)(const std::string& file, const char* codec);
};

/// Loads the library on the first call; it stays loaded. Throws UserError "file: ...; remedy" if it cannot be loaded.
/// `file`: the data file that needs it, for the message.
const ArrowLibrary& arrow_library(const std::string& file);

}  // namespace roll
