#include "data/row_reader.h"

#include <array>
#include <istream>

#include "base/file.h"
#include "base/other_format.h"
#include "data/arrow_library.h"
#include "data/text_rows.h"

namespace roll {

namespace {

using namespace std::string_view_literals;

namespace fs = std::filesystem;

class StreamBuffer : public std::streambuf {
 public:
  explicit StreamBuffer(std::unique_ptr<ByteStream> bytes) : bytes_(std::move(bytes)) {}

 protected:
  int_type underflow() override {
    const size_t count = bytes_->read(piece_.data(), piece_.size());
    setg(piece_.data(), piece_.data(), piece_.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(piece_[0]);
  }

 private:
  std::unique_ptr<ByteStream> bytes_;
  std::array<char, 1 << 16> piece_;
};

/// What reading throws comes out of it.
class DecompressedFile : public std::istream {
 public:
  explicit DecompressedFile(std::unique_ptr<ByteStream> bytes) : std::istream(nullptr), buffer_(std::move(bytes)) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);
  }

 private:
  StreamBuffer buffer_;
};

const char* codec_of(std::string_view beginning) {
  if (beginning.starts_with("\x1f\x8b"sv)) return "gzip";
  return beginning.starts_with("\x28\xb5\x2f\xfd"sv) ? "zstd" : nullptr;
}

std::unique_ptr<std::istream> open_text(const fs::path& file, const char* codec) {
  if (!codec) return std::make_unique<std::ifstream>(open_to_read(file));
  const std::string name = file.string();
  return std::make_unique<DecompressedFile>(arrow_library(name).open_compressed(name, codec));
}

/// Of a table; 0 of other files.
char separator_of(fs::path file) {
  if (file.extension() == ".gz" || file.extension() == ".zst") file = file.stem();
  return file.extension() == ".csv" ? ',' : file.extension() == ".tsv" ? '\t' : '\0';
}

/// The mark by which some programs open a UTF-8 text.
void skip_byte_order_mark(std::streambuf& in) {
  if (in.sgetc() != 0xef) return;
  for (int i = 0; i < 3; ++i) in.sbumpc();
}

/// The line that begins with something else than blanks.
int64_t skip_blanks(std::streambuf& in) {
  int64_t line = 1;
  for (int c = in.sgetc(); c == ' ' || c == '\t' || c == '\r' || c == '\n'; c = in.snextc()) line += c == '\n';
  return line;
}

}  // namespace

std::unique_ptr<RowReader> open_rows(const fs::path& file) {
  const std::string name = file.string();
  std::array<char, 6> begin{};
  std::ifstream in = open_to_read(file);
  in.read(begin.data(), begin.size());
  const std::string_view beginning(begin.data(), static_cast<size_t>(in.gcount()));
  if (beginning.starts_with("PAR1")) return arrow_library(name).open_parquet(name);
  if (beginning.starts_with("PARE")) throw user_error("{}: is an encrypted Parquet file, which is not read", name);
  auto text = open_text(file, codec_of(beginning));
  std::streambuf& bytes = *text->rdbuf();
  skip_byte_order_mark(bytes);
  if (const char separator = separator_of(file)) return read_csv(std::move(text), name, separator);
  const int64_t line = skip_blanks(bytes);
  if (bytes.sgetc() != '[') return read_json_lines(std::move(text), name, line);
  bytes.sbumpc();
  return read_json_array(std::move(text), name);
}

}  // namespace roll
