#include "train/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

void move_away(const fs::path& folder, Log& log) {
  for (int n = 1;; ++n) {
    const fs::path old = fmt::format("{}.{}", folder.string(), n);
    if (fs::exists(old)) continue;
    fs::rename(folder, old);
    log.info("output_dir {} held an earlier run; it is now {}", folder.string(), old.string());
    return;
  }
}

}  // namespace

void RunFolder::start(const std::string& resolved_config, Log& log) const {
  if (fs::exists(path_ / "metrics.jsonl")) move_away(path_, log);
  make_folder(path_);
  write_file_atomic(path_ / "config.resolved.yaml", resolved_config);
}

fs::path RunFolder::checkpoint(int64_t step) const {
  return checkpoints() / fmt::format("step_{:06}", step);
}

void RunFolder::save_checkpoint(int64_t step, int64_t max_to_keep,
                                const std::function<void(const fs::path&)>& fill) const {
  write_folder_atomic(checkpoint(step), fill);
  if (max_to_keep <= 0) return;
  std::vector<fs::path> complete;
  for (const auto& entry : fs::directory_iterator(checkpoints()))
    if (entry.path().filename().string().starts_with("step_")) complete.push_back(entry.path());
  std::sort(complete.begin(), complete.end());
  for (size_t i = 0; i + static_cast<size_t>(max_to_keep) < complete.size(); ++i) fs::remove_all(complete[i]);
}

}  // namespace roll
