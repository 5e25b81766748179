// Writes checkpoints while training continues, for Run (run.h). save() copies weights and optimizer state into host
// memory, which the next checkpoint uses again; then a thread on each rank writes them. Rank 0's thread completes the
// folder once all other ranks have listed their files there (part_<rank>.json).
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

/// One model of a checkpoint. A rank's checkpoint has parts only for the models that it holds.
struct CheckpointPart {
  std::string name;  // "actor": name of the model's folder, and beginning of its optimizer's files
  /// Returns the model's whole weights on the rank that writes them, an empty list on others. **Collective** over the
  /// ranks that hold the model.
  std::function<NamedTensors()> gather;
  /// Returns this rank's shard of the optimizer state; nullopt if it has none to save.
  std::function<std::optional<OptimizerShard>()> optimizer;
  /// Writes the weights `whole` that gather() returned, on the host, as a model folder; returns the files' checksums.
  std::function<FileSums(const std::filesystem::path& folder, const NamedTensors& whole)> write;
};

/// The contents of a checkpoint.
struct Checkpoint {
  int64_t step = 0;
  Json about;          // further fields of manifest.json; "run" holds the run's id
  Json state;          // state.json: everything but tensors
  std::string config;  // config.resolved.yaml
  std::vector<CheckpointPart> parts;
};

/// For one thread of each rank.
class Saver {
 public:
  /// `store` is the folder of checkpoints, which all ranks must see. `keeping` says which checkpoints stay when a new
  /// one is complete. `timeout_s` is rank 0's longest wait for another rank's files, in seconds. `ranks`, all ranks of
  /// the job, and `log` must outlive this object. All collectives below are over `ranks`.
  Saver(CheckpointStore store, Keeping keeping, double timeout_s, Communicator& ranks, Log& log);
  /// Waits for this rank's thread. If rank 0's thread still waits for other ranks' files, it gives up the checkpoint.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  /// Waits for the previous checkpoint, copies this one to host memory, starts the threads that write it and returns
  /// true. Returns false on all ranks, with a warning, if disk space is too small or the folder cannot be made.
  /// **Collective**. Throws SystemError if a weight or an optimizer state is not finite; then nothing is written or
  /// removed.
  bool save(const Checkpoint& checkpoint);
  /// Returns true, with a warning, if the checkpoint being written has failed on any rank; then its files are removed.
  /// With `waits`, first waits until it is written or has failed. Returns true only once for a checkpoint.
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
