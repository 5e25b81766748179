// The layout of the run folder (`output_dir`):
//   run.json  config.resolved.yaml  log.txt  metrics.jsonl  tensorboard/  .lock
//   rollouts/     responses: step_000001.jsonl of training, val_000000.jsonl of a validation
//   samples/      some responses token by token, for `roll report`: step_000001.jsonl
//   experience/   training data of each token, with dump_experience: step_000001.jsonl
//   timeline/     operator traces, with profiler_timeline: step_000002_rank_0.json
//   skipped/      rows of updates that were skipped for a NaN or infinite loss: step_000001.jsonl
//   checkpoints/  step_000010/ with {actor,critic,optimizer}/ and manifest.json; links latest, best to such folders
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "process/file_lock.h"

namespace roll {

constexpr const char* kLockFile = ".lock";
constexpr const char* kRunFile = "run.json";                // holds the run's id
constexpr const char* kEvaluationFile = "evaluation.json";  // settings of an evaluation

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  /// Creates the folder if it is missing, and takes its lock, which lasts until the result is destroyed; waits at most
  /// 10 s for another holder. Throws UserError if another process still holds it, SystemError if the folder cannot be
  /// created.
  std::unique_ptr<FileLock> lock() const;
  /// Prepares the folder for the run with the id `run`: removes unfinished files, writes run.json and
  /// config.resolved.yaml. Rank 0 calls it, holding lock(), when it is certain that the run starts. Throws SystemError
  /// if a file cannot be written.
  void start(const std::string& run, const std::string& resolved_config) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path rollouts() const { return path_ / "rollouts"; }
  std::filesystem::path samples() const { return path_ / "samples"; }
  std::filesystem::path experience() const { return path_ / "experience"; }
  std::filesystem::path timeline() const { return path_ / "timeline"; }
  std::filesystem::path skipped() const { return path_ / "skipped"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

 private:
  std::filesystem::path path_;
};

/// Like RunFolder::lock(), for a run folder that exists.
std::unique_ptr<FileLock> lock_run_folder(const std::filesystem::path& folder);

}  // namespace roll
