// The checkpoints of a run: folders step_NNNNNN that are whole or absent. One is written under a hidden name, gets its
// manifest last, and then its own name; what is removed gets a hidden name first. So whatever moment a run dies at, a
// folder with its own name is complete, and hidden ones are rubbish that the next run may sweep.
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

/// What is kept of a run's checkpoints.
struct Keeping {
  int64_t newest = 0;  // 0: all
  int64_t best = 0;    // beside them, by "metric" of the manifests
  bool greater_is_better = true;
  std::string measured{};  // what is measured, as "measured" of the manifests has it; others' numbers say nothing
};

class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path(int64_t step) const;
  /// Where checkpoint `step` is written until it is finished.
  std::filesystem::path saving_path(int64_t step) const;

  /// What would fail only when the first checkpoint is finished: links in its folder. UserError.
  void check_links() const;
  /// Makes an empty saving_path(). SystemError.
  void begin(int64_t step) const;
  /// Finishes it: `about`, `step` and `files` are in its manifest, its name is path(), and `latest` leads there. What
  /// was put there is on the disk by then: write_file_atomic() saw to it. SystemError.
  void commit(int64_t step, const Json& about, const FileSums& files) const;
  /// Makes `latest` lead to path(). SystemError.
  void mark_latest(int64_t step) const;
  /// Removes an unfinished one, whatever state it is in.
  void abandon(int64_t step) const noexcept;

  /// Steps with a folder of that name, ascending, complete or not.
  std::vector<int64_t> steps() const;
  /// The newest one without damage; `report` is given what is wrong with each newer one, and what lies beside its
  /// files.
  std::optional<int64_t> newest_sound(const std::function<void(const std::string&)>& report) const;

  /// Removes what `keeping` does not keep of the checkpoints whose manifest says "run": `run`; others are not ours.
  /// Before that `best` comes to lead to the best of those that stay, the newest among equals; there is none where
  /// nothing was measured. So it never leads nowhere.
  void rotate(const std::string& run, const Keeping& keeping) const;
  /// Removes what a dead run left unfinished. Nobody else may be at work here.
  void sweep() const;
  /// Gives checkpoints after `step` a name ("step_000020.superseded") under which nobody takes them for this run's.
  /// Returns how many there were.
  int64_t supersede_after(int64_t step) const;

 private:
  struct Own {
    int64_t step;
    std::optional<double> metric;
  };
  void mark_best(const std::vector<Own>& by_metric, const std::set<int64_t>& kept) const;
  /// Ascending.
  std::vector<Own> own_checkpoints(const std::string& run, const std::string& measured) const;
  void remove(const std::filesystem::path& checkpoint) const;

  std::filesystem::path folder_;
};

/// Bytes that a user may still write where `folder` is, or will be. SystemError.
int64_t free_bytes(const std::filesystem::path& folder);

}  // namespace roll
