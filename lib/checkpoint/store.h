// The checkpoints of a run: folders step_NNNNNN that are whole or absent. A checkpoint is written under a hidden name
// and gets its manifest, then its final name; removal first renames it to a hidden name. So after a crash, visible
// folders are complete, and the next run may delete hidden ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"

namespace roll {

/// Rules for the checkpoints that a run keeps.
struct Keeping {
  int64_t newest = 0;  // 0: all
  int64_t best = 0;    // kept in addition, by "metric" in the manifests
  bool greater_is_better = true;
  std::string measured{};  // metric's name ("measured" in the manifests); checkpoints with another one have no metric
};

class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path(int64_t step) const;
  /// Returns the folder in which checkpoint `step` is written until it is finished.
  std::filesystem::path saving_path(int64_t step) const;

  /// UserError: the folder cannot hold symbolic links, or `latest` or `best` is not one. Found before the first save.
  void check_links() const;
  /// Makes an empty saving_path(). SystemError: it cannot be created.
  void begin(int64_t step) const;
  /// Finishes the checkpoint: writes its manifest, renames it to path() and points `latest` to it. Its files are on the
  /// disk already (write_file_atomic() fsyncs). SystemError: the disk refuses.
  void commit(int64_t step, const Json& about, const FileSums& files) const;
  /// Points the link `latest` to path(). SystemError: linking fails.
  void mark_latest(int64_t step) const;
  /// Removes an unfinished checkpoint in any state.
  void abandon(int64_t step) const noexcept;

  /// Returns the steps that have a folder, complete or not, ascending.
  std::vector<int64_t> steps() const;
  /// Returns the newest checkpoint without damage. Calls `report` for damage in newer ones and for additional files.
  std::optional<int64_t> newest_sound(const std::function<void(const std::string&)>& report) const;

  /// Removes checkpoints of run `run` (by their manifests) that `keeping` does not keep; those of other runs stay.
  /// First points `best` to the best of the kept ones, the newest if equal; removes it if none has a metric. So it
  /// never dangles.
  void rotate(const std::string& run, const Keeping& keeping) const;
  /// Removes what a dead run left unfinished. Nobody else may be writing here.
  void sweep() const;
  /// Renames checkpoints after `step` ("step_000020.superseded"), so that they no longer belong to this run. Returns
  /// their number.
  int64_t supersede_after(int64_t step) const;

 private:
  struct RunCheckpoint {
    int64_t step;
    std::optional<double> metric;
  };
  void mark_best(const std::vector<RunCheckpoint>& by_metric, const std::set<int64_t>& kept) const;
  /// Returns this run's checkpoints, ascending.
  std::vector<RunCheckpoint> run_checkpoints(const std::string& run, const std::string& measured) const;
  void remove(const std::filesystem::path& checkpoint) const;

  std::filesystem::path folder_;
};

/// Returns the bytes that a user may still write in `folder`, which need not exist yet. SystemError: unknown.
int64_t free_bytes(const std::filesystem::path& folder);

}  // namespace roll
