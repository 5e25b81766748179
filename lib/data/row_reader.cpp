#include "data/row_reader.h"

#include <algorithm>
#include <array>
#include <istream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/other_format.h"
#include "data/arrow_library.h"
#include "data/text_rows.h"

namespace roll {

namespace {

using namespace std::string_view_literals;

namespace fs = std::filesystem;

/// Tracks the size of a file's decompressed content.
class Expansion {
 public:
  explicit Expansion(const fs::path& file) : name_(file.string()), file_bytes_(fs::file_size(file)) {}

  /// UserError: the content is too large for the file.
  void add(size_t bytes) {
    constexpr uint64_t kAlwaysAllowed = 256 << 20, kMaxRatio = 500;
    content_bytes_ += bytes;
    if (content_bytes_ > std::max(kAlwaysAllowed, kMaxRatio * file_bytes_))
      throw user_error(
          "{}: its {} bytes expand to more than {} MB, over {} times as much, which no real data set does; if the rows "
          "are right, write them as JSON lines without compression",
          name_, file_bytes_, content_bytes_ >> 20, kMaxRatio);
  }

 private:
  std::string name_;
  uint64_t file_bytes_, content_bytes_ = 0;
};

/// Checks the expansion of files with internal compression.
class ExpandedRows : public RowReader {
 public:
  ExpandedRows(std::unique_ptr<RowReader> rows, const fs::path& file) : rows_(std::move(rows)), expansion_(file) {}

  bool next(Json& row) override {
    if (!rows_->next(row)) return false;
    expansion_.add(num_bytes(row));
    return true;
  }
  int64_t number() const override { return rows_->number(); }

 private:
  std::unique_ptr<RowReader> rows_;
  Expansion expansion_;
};

class StreamBuffer : public std::streambuf {
 public:
  StreamBuffer(std::unique_ptr<ByteStream> bytes, const fs::path& file) : bytes_(std::move(bytes)), expansion_(file) {}

 protected:
  int_type underflow() override {
    const size_t count = bytes_->read(chunk_.data(), chunk_.size());
    expansion_.add(count);
    setg(chunk_.data(), chunk_.data(), chunk_.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(chunk_[0]);
  }

 private:
  std::unique_ptr<ByteStream> bytes_;
  Expansion expansion_;
  std::array<char, 1 << 16> chunk_;
};

/// A decompressing stream; rethrows read errors.
class DecompressedFile : public std::istream {
 public:
  DecompressedFile(std::unique_ptr<ByteStream> bytes, const fs::path& file)
      : std::istream(nullptr), buffer_(std::move(bytes), file) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);
  }

 private:
  StreamBuffer buffer_;
};

const char* detect_codec(std::string_view beginning) {
  if (beginning.starts_with("\x1f\x8b"sv)) return "gzip";
  return beginning.starts_with("\x28\xb5\x2f\xfd"sv) ? "zstd" : nullptr;
}

std::unique_ptr<std::istream> open_text(const fs::path& file, const char* codec) {
  if (!codec) return std::make_unique<std::ifstream>(open_to_read(file));
  const std::string name = file.string();
  return std::make_unique<DecompressedFile>(arrow_library(name).open_compressed(name, codec), file);
}

/// Returns the separator of a table by its file extension; 0 for other files.
char table_separator(fs::path file) {
  if (file.extension() == ".gz" || file.extension() == ".zst") file = file.stem();
  return file.extension() == ".csv" ? ',' : file.extension() == ".tsv" ? '\t' : '\0';
}

/// Skips the UTF-8 byte order mark that some programs write.
void skip_byte_order_mark(std::streambuf& in) {
  if (in.sgetc() != 0xef) return;
  for (int i = 0; i < 3; ++i) in.sbumpc();
}

/// Skips leading blanks and returns the number of the first non-blank line.
int64_t skip_blanks(std::streambuf& in) {
  int64_t line = 1;
  for (int c = in.sgetc(); c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = in.snextc()) line += c == '\n';
  return line;
}

}  // namespace

size_t num_bytes(const Json& value) {
  size_t sum = sizeof(Json);
  if (value.is_string()) return sum + value.get_ref<const std::string&>().size();
  if (value.is_structured())
    for (const Json& inner : value) sum += num_bytes(inner);
  return sum;
}

std::unique_ptr<RowReader> open_rows(const fs::path& file) {
  const std::string name = file.string();
  std::array<char, 6> first_bytes{};
  std::ifstream in = open_to_read(file);
  in.read(first_bytes.data(), first_bytes.size());
  const std::string_view beginning(first_bytes.data(), static_cast<size_t>(in.gcount()));
  if (beginning.starts_with("PAR1"))
    return std::make_unique<ExpandedRows>(arrow_library(name).open_parquet(name), file);
  if (beginning.starts_with("PARE"))
    throw user_error("{}: is an encrypted Parquet file, which is not supported; decrypt it first", name);
  auto text = open_text(file, detect_codec(beginning));
  std::streambuf& bytes = *text->rdbuf();
  skip_byte_order_mark(bytes);
  if (const char separator = table_separator(file)) return read_csv(std::move(text), name, separator);
  const int64_t line = skip_blanks(bytes);
  if (bytes.sgetc() != '[') return read_json_lines(std::move(text), name, line);
  bytes.sbumpc();
  return read_json_array(std::move(text), name);
}

}  // namespace roll
