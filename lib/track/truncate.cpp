#include "track/truncate.h"

#include <charconv>
#include <fstream>
#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "track/tensorboard.h"
#include "track/wandb.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Truncates in place: kept data is not rewritten, so it cannot get lost.
void truncate_file(const fs::path& file, int64_t bytes) {
  std::error_code ec;
  if (static_cast<int64_t>(fs::file_size(file, ec)) == bytes) return;
  fs::resize_file(file, static_cast<uintmax_t>(bytes), ec);
  if (ec) throw system_error("{}: cannot be cut to {} bytes ({})", file.string(), bytes, ec.message());
}

/// Returns the number at the start of a text; -1 if there is none.
int64_t leading_number(std::string_view text) {
  int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Truncates before the first line that is unfinished or not kept.
void truncate_lines(const fs::path& file, const std::function<bool(std::string_view line)>& is_kept) {
  if (!is_there(file)) return;
  std::ifstream in = open_to_read(file);
  int64_t kept = 0;
  std::string line;
  while (std::getline(in, line) && !in.eof() && is_kept(line)) kept += std::ssize(line) + 1;
  truncate_file(file, kept);
}

/// Returns the step of a line {"step": 12, ...; -1 for another line.
int64_t parse_step(std::string_view line) {
  constexpr std::string_view kBegin = "{\"step\":";
  if (!line.starts_with(kBegin)) return -1;
  line.remove_prefix(kBegin.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  return leading_number(line);
}

}  // namespace

void truncate_jsonl(const fs::path& file, int64_t step) {
  truncate_lines(file, [&](std::string_view line) { return parse_step(line) <= step; });
}

void truncate_csv(const fs::path& file, int64_t step) {
  truncate_lines(file, [&](std::string_view line) { return line.starts_with("step") || leading_number(line) <= step; });
}

void truncate_mlflow(const fs::path& run_folder, int64_t step) {
  const fs::path metrics = run_folder / "metrics";
  if (!is_folder(metrics)) return;
  // line format: "timestamp value step"
  const auto is_kept = [&](std::string_view line) { return leading_number(line.substr(line.rfind(' ') + 1)) <= step; };
  for (const auto& entry : fs::recursive_directory_iterator(metrics))
    if (entry.is_regular_file()) truncate_lines(entry.path(), is_kept);
}

void truncate_tensorboard(const fs::path& folder, const std::string& run, int64_t step) {
  for (const fs::path& file : list_folder(folder)) {
    if (file.filename().string().find(event_file_mark(run)) == std::string::npos) continue;
    std::ifstream in = open_to_read(file);
    int64_t kept = 0;
    for (std::string event; read_tfrecord(in, event) && step_of_event(event) <= step; event.clear())
      kept = static_cast<int64_t>(in.tellg());
    truncate_file(file, kept);
  }
}

void truncate_wandb(const fs::path& folder, const std::string& run, int64_t step) {
  const fs::path file = find_wandb_file(folder, run);
  if (file.empty() || !is_there(file)) return;
  std::ifstream in = open_to_read(file);
  int64_t kept = 0;
  if (read_wandb_head(in))
    for (std::string record; read_wandb_record(in, record) && !is_wandb_record_after(record, step);)
      kept = static_cast<int64_t>(in.tellg());
  truncate_file(file, kept);
}

}  // namespace roll
