#include "run/run_folder.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr double kPatience_s = 10;  // the ranks of a killed job may take this long to end

}  // namespace

std::unique_ptr<FileLock> lock_run_folder(const fs::path& folder) {
  std::string holder;
  auto lock = FileLock::take(folder / kLockFile, kPatience_s, holder);
  if (!lock)
    throw user_error("output_dir = {}: another run is using this folder ({}); wait for it or stop it, or use --new-run",
                     folder.string(), holder.empty() ? "unknown" : holder);
  return lock;
}

std::unique_ptr<FileLock> RunFolder::lock() const {
  make_folder(path_);
  return lock_run_folder(path_);
}

void RunFolder::start(const std::string& run, const std::string& resolved_config) const {
  for (const fs::path& folder : {path_, rollouts(), samples(), experience(), skipped(), checkpoints()})
    sweep_temporaries(folder);
  write_file_atomic(path_ / kRunFile, to_line({{"run", run}}) + "\n");
  write_file_atomic(path_ / "config.resolved.yaml", resolved_config);
}

}  // namespace roll
