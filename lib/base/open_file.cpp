#include "base/open_file.h"

#include "base/error.h"

namespace roll {

namespace fs = std::filesystem;

void require_file(const fs::path& file) {
  std::error_code ec;
  if (!fs::exists(file, ec)) throw user_error("{}: no such file", file.string());
  if (fs::is_directory(file, ec)) throw user_error("{}: is a folder where a file is needed", file.string());
  if (!fs::is_regular_file(file, ec))
    throw user_error("{}: is a pipe or device where a file is needed; write it to a file first", file.string());
}

std::ifstream open_to_read(const fs::path& file) {
  require_file(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw user_error("{}: cannot read{}", file.string(), errno_text());
  return in;
}

std::ofstream open_to_append(const fs::path& file) {
  if (std::error_code ec; fs::exists(file, ec)) require_file(file);
  std::ofstream out(file, std::ios::app | std::ios::binary);
  if (!out) throw system_error("{}: cannot write{}", file.string(), errno_text());
  return out;
}

}  // namespace roll
