// Writes checkpoints while training goes on. Weights and optimizer state are copied into host memory, which is kept for
// the next checkpoint, and a thread of each rank writes them. Rank 0's thread completes the folder when the files of
// all ranks are listed there (part_<rank>.json), so training does not wait for it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "checkpoint/store.h"
#include "dist/communicator.h"
#include "optim/optimizer_shard.h"

namespace roll {

/// One model of a checkpoint, on the ranks that hold it.
struct CheckpointPart {
  std::string name;                                          // "actor": its folder, and its optimizer's files
  std::function<NamedTensors()> gather;                      // **Collective** over its ranks; whole weights on one
  std::function<std::optional<OptimizerShard>()> optimizer;  // this rank's, if it has any to save
  std::function<FileSums(const std::filesystem::path& folder, const NamedTensors& whole)> write;
};

/// What is saved of a step.
struct Checkpoint {
  int64_t step = 0;
  Json about;          // of the manifest
  Json state;          // state.json: everything but tensors
  std::string config;  // YAML
  std::vector<CheckpointPart> parts;
};

class Saver {
 public:
  /// `timeout_s`: how long rank 0 waits for another rank's files. All ranks see the folder of `store`.
  Saver(CheckpointStore store, Keeping keeping, double timeout_s, Communicator& ranks, Log& log);
  /// Abandons a checkpoint that is not finished.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  /// Copies the checkpoint and begins to write it, once the one before has ended. False, with a warning, where there is
  /// no room for it. **Collective**. SystemError: a weight or an optimizer state is not finite; nothing is written
  /// then, or removed.
  bool save(const Checkpoint& checkpoint);
  /// Whether the save in progress has failed, on any rank, with a warning that says why; `waits`: once it has ended.
  /// **Collective**.
  bool failed(bool waits);

 private:
  struct Staged;
  bool has_place(const Staged& staged);
  void write(const Staged& staged);
  void take_parts(int64_t step, FileSums& sums) const;
  void warn_failed(int64_t step, const std::string& why);
  void join();

  CheckpointStore store_;
  Keeping keeping_;
  double timeout_s_;
  Communicator& ranks_;
  Log& log_;
  std::unique_ptr<Staged> staged_;  // the thread's while it runs
  std::thread thread_;
  std::atomic<bool> done_ = true;
  std::atomic<bool> gives_up_ = false;
  std::string error_;  // of the thread; read after it has ended
  int64_t step_ = -1;  // of the save in progress
};

}  // namespace roll
