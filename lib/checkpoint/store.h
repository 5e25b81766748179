// Manages the folder of a run's checkpoints: one complete folder step_NNNNNN each, and links `latest` and `best`. A
// checkpoint is written under a hidden name, gets its manifest, and is then renamed. Removal first renames it to a
// hidden name. So after a crash, folders with final names are complete, and hidden ones may be deleted.
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

/// Says which checkpoints a run keeps: the newest ones, and those with the best values of the field "metric" in their
/// manifests.
struct Keeping {
  int64_t newest = 0;             // number of newest checkpoints to keep; 0: all
  int64_t best = 0;               // number of best checkpoints to keep; 0: the metric keeps none
  bool greater_is_better = true;  // false: a smaller metric is better
  // Name of the metric. A checkpoint counts as one without metric if its manifest's field "measured" has another name.
  std::string measured{};
};

/// Only one process may write at a time. `step`: the training step after which the checkpoint is written; the folder is
/// named after it.
class CheckpointStore {
 public:
  /// `folder`: need not exist yet.
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  /// Returns the folder step_NNNNNN of checkpoint `step`, which need not exist.
  std::filesystem::path path(int64_t step) const;
  /// Returns the hidden folder in which checkpoint `step` is written until it is finished.
  std::filesystem::path saving_path(int64_t step) const;

  /// Throws UserError if the folder cannot hold symbolic links, or `latest` or `best` exists and is not a link. Makes
  /// the folder if it does not exist. Call it at the start of a run, so that the first save does not fail.
  void check_links() const;
  /// Begins a checkpoint: makes saving_path() as an empty folder, for the caller to fill. Removes an unfinished one of
  /// the same step. Throws SystemError if it cannot make the folder.
  void begin(int64_t step) const;
  /// Finishes a checkpoint: writes its manifest with `about` and `files` (see Manifest), renames it to path(), and
  /// points `latest` to it. Replaces an older checkpoint of this step. The files must be on the disk already, with
  /// fsync (write_file_atomic() does so). Throws SystemError if a file operation fails.
  void commit(int64_t step, const Json& about, const FileSums& files) const;
  /// Points the link `latest` to path(step). Throws SystemError if it cannot.
  void mark_latest(int64_t step) const;
  /// Removes saving_path(step) in any state; ignores errors.
  void abandon(int64_t step) const noexcept;

  /// Returns the steps whose path() exists, ascending; does not check the contents.
  std::vector<int64_t> steps() const;
  /// Returns the step of the newest checkpoint without damage (find_checkpoint_faults()); nullopt if there is none.
  /// Calls report(line) for damage in newer ones and for files that nothing reads.
  std::optional<int64_t> newest_sound(const std::function<void(const std::string&)>& report) const;

  /// Removes the checkpoints of run `run` (field "run" in the manifests) that `keeping` does not keep; damaged ones and
  /// those of other runs stay. Before that, points the link `best` to the kept checkpoint with the best metric, the
  /// newest one of equals. If no kept checkpoint has a metric, removes the link.
  void rotate(const std::string& run, const Keeping& keeping) const;
  /// Removes all hidden folders, which a run that crashed left behind. No other process may be writing here.
  void sweep() const;
  /// Renames the checkpoints after `step` to "step_000020.superseded" and the like, so that a run that resumes from
  /// `step` does not see them; removes the link `best` if it leads to one. Returns their number.
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

/// Returns the bytes that may still be written in `folder` (or, if it does not exist, in its nearest existing parent).
/// Throws SystemError if the file system does not say.
int64_t free_bytes(const std::filesystem::path& folder);

}  // namespace roll
