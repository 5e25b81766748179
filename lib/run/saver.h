// Writes checkpoints while training continues. Weights and optimizer state are copied into host memory, which is reused
// for the next checkpoint, and a thread on each rank writes them. Rank 0's thread completes the folder once all ranks
// have listed their files there (part_<rank>.json), so training does not wait.
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
  std::string name;                                          // "actor": names its folder and its optimizer's files
  std::function<NamedTensors()> gather;                      // **Collective** over its ranks; whole weights on one rank
  std::function<std::optional<OptimizerShard>()> optimizer;  // this rank's shard, if it has one to save
  std::function<FileSums(const std::filesystem::path& folder, const NamedTensors& whole)> write;
};

/// The contents of a checkpoint.
struct Checkpoint {
  int64_t step = 0;
  Json about;          // fields for the manifest
  Json state;          // state.json: everything but tensors
  std::string config;  // YAML
  std::vector<CheckpointPart> parts;
};

class Saver {
 public:
  /// `timeout_s`: longest wait of rank 0 for another rank's files. All ranks must see the folder of `store`.
  Saver(CheckpointStore store, Keeping keeping, double timeout_s, Communicator& ranks, Log& log);
  /// Abandons an unfinished checkpoint.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  /// Copies the checkpoint and starts writing it, once the previous one has ended. Returns false, with a warning, if
  /// there is no room. **Collective**. SystemError: a weight or an optimizer state is not finite; then nothing is
  /// written or removed.
  bool save(const Checkpoint& checkpoint);
  /// Returns true, with a warning, if the save in progress has failed on any rank. `waits`: waits for its end.
  /// **Collective**.
  bool failed(bool waits);

 private:
  struct Staged;
  bool reserve_space(const Staged& staged);
  void write(const Staged& staged);
  void collect_parts(int64_t step, FileSums& sums) const;
  void warn_failed(int64_t step, const std::string& why);
  void join();

  CheckpointStore store_;
  Keeping keeping_;
  double timeout_s_;
  Communicator& ranks_;
  Log& log_;
  std::unique_ptr<Staged> staged_;  // belongs to the thread while it runs
  std::thread thread_;
  std::atomic<bool> done_ = true;
  std::atomic<bool> gives_up_ = false;
  std::string error_;  // written by the thread; read after it has ended
  int64_t step_ = -1;  // step being saved
};

}  // namespace roll
