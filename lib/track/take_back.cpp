#include "track/take_back.h"

#include <charconv>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "track/tensorboard.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// A cut in place: what stays is not written again, so nothing can be lost by it.
void cut(const fs::path& file, int64_t bytes) {
  std::error_code ec;
  if (static_cast<int64_t>(fs::file_size(file, ec)) == bytes) return;
  fs::resize_file(file, static_cast<uintmax_t>(bytes), ec);
  if (ec) throw system_error("{}: cannot be cut to {} bytes ({})", file.string(), bytes, ec.message());
}

/// Of a line that the JSONL sink has written: {"step": 12, ...; -1 where it is none.
int64_t step_of(std::string_view line) {
  constexpr std::string_view kBegin = "{\"step\":";
  if (!line.starts_with(kBegin)) return -1;
  line.remove_prefix(kBegin.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  int64_t step = -1;
  std::from_chars(line.data(), line.data() + line.size(), step);
  return step;
}

}  // namespace

void take_back_jsonl(const fs::path& file, int64_t step) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return;
  int64_t kept = 0;
  std::string line;
  while (std::getline(in, line) && !in.eof() && step_of(line) <= step) kept += std::ssize(line) + 1;
  cut(file, kept);
}

void take_back_tensorboard(const fs::path& folder, const std::string& run, int64_t step) {
  for (const fs::path& file : entries_of(folder)) {
    if (file.filename().string().find(event_file_mark(run)) == std::string::npos) continue;
    std::ifstream in(file, std::ios::binary);
    int64_t kept = 0;
    for (std::string event; read_tfrecord(in, event) && step_of_event(event) <= step; event.clear())
      kept = static_cast<int64_t>(in.tellg());
    cut(file, kept);
  }
}

}  // namespace roll
