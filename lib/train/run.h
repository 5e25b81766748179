// What a run of any pipeline has beside its steps: its folder, its log, what it tells and when, its checkpoints.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "dist/communicator.h"
#include "settings/load_config.h"
#include "track/tracker.h"
#include "train/roles.h"
#include "train/run_folder.h"

namespace roll {

/// The keys that every pipeline's configuration has for this.
struct RunKeys {
  std::string output_dir;
  std::string log_dir;
  TrackConfig track;
  int64_t logging_steps, save_steps, max_ckpt_to_keep;
  std::string resolved_config;  // YAML
};
template <class C>
RunKeys run_keys(const C& config) {
  return {config.output_dir,    config.logging_dir.value_or(config.output_dir),
          config.track,         config.logging_steps,
          config.save_steps,    config.max_ckpt_to_keep,
          resolved_yaml(config)};
}

/// One model of a checkpoint.
struct CheckpointPart {
  std::string folder;                    // its name in the checkpoint
  std::function<NamedTensors()> gather;  // **Collective**; whole weights on rank 0
  std::function<void(const std::filesystem::path& folder, const NamedTensors& whole)> write;
};
template <class Model>
CheckpointPart checkpoint_part(std::string folder, const Model& model, Mesh& mesh) {
  return {std::move(folder), [&] { return gather_on_first(model, mesh); },
          [&](const std::filesystem::path& to, const NamedTensors& whole) { model.write_files(to, whole); }};
}

class Run {
 public:
  /// Starts the run folder, its log.txt and the trackers, on rank 0. `headline`: what the terminal shows of a step.
  Run(RunKeys keys, int64_t last_step, std::vector<std::string> headline, Communicator& ranks, Log& log);

  const RunFolder& folder() const { return folder_; }
  /// Whether something that happens every so many steps (0 or less: never), and after the last one, happens now.
  bool is_due(int64_t step, int64_t every) const { return step == last_step_ || (every > 0 && step % every == 0); }
  /// The step's metrics to the trackers.
  void track(int64_t step, const Metrics& metrics);
  /// A checkpoint where save_steps has one. **Collective**.
  void save_if_due(int64_t step, const std::vector<CheckpointPart>& parts);

 private:
  RunKeys keys_;
  int64_t last_step_;
  Communicator& ranks_;
  RunFolder folder_;
  std::optional<Tracker> tracker_;  // rank 0
};

}  // namespace roll
