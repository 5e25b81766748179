// The run folder (`output_dir`): where each file of a run lies.
//   config.resolved.yaml  log.txt  metrics.jsonl  tensorboard/
//   rollouts/step_000001.jsonl, val_000000.jsonl   experience/step_000001.jsonl checkpoints/step_000010/{actor,critic}/
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/log.h"

namespace roll {

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path output_dir) : path_(std::move(output_dir)) {}

  /// Makes the folder. One that holds an earlier run's metrics is first moved to `<output_dir>.1` (or .2, ...), with a
  /// note: a run never writes into another one's curves. For rank 0. SystemError.
  void start(const std::string& resolved_config, Log& log) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path rollouts() const { return path_ / "rollouts"; }
  std::filesystem::path experience() const { return path_ / "experience"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path checkpoint(int64_t step) const;

  /// Writes checkpoints/step_NNNNNN as a whole: `fill` gets the folder to fill. Then the oldest complete ones beyond
  /// `max_to_keep` are removed (0 keeps all). For rank 0.
  void save_checkpoint(int64_t step, int64_t max_to_keep,
                       const std::function<void(const std::filesystem::path&)>& fill) const;

 private:
  std::filesystem::path path_;
};

}  // namespace roll
