// Manages a run around its steps, for every pipeline: folder, log, trackers, checkpoints and end.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "device/operator_trace.h"
#include "dist/communicator.h"
#include "process/stop.h"
#include "run/early_stop.h"
#include "run/run_folder.h"
#include "run/run_start.h"
#include "run/saver.h"
#include "settings/load_config.h"
#include "step/roles.h"
#include "track/tracker.h"

namespace roll {

/// Inputs of a run besides its configuration: command-line flags, and facts about the models to record.
struct RunFlags {
  bool new_run = false;
  bool allow_config_change = false;
  std::string resume_command;   // the same command line, with --resume
  std::string version;          // program and libraries, recorded in checkpoints
  bool is_long = false;         // the policy's Rope::is_long
  RunScreen* screen = nullptr;  // nullptr: lines of text
};

/// The part of a pipeline's configuration that a Run needs.
struct RunKeys {
  RunRequest request;
  std::optional<std::string> log_dir;  // unset: the run folder
  TrackConfig track;
  CheckpointConfig checkpoints;
  int64_t logging_steps;
  double timeout_s;
  std::string resume_command;
  RunScreen* screen;
};
/// The settings and the start of a pipeline's run.
struct RunPlan {
  RunKeys keys;
  RunStart start;
};

/// Plans the run before anything is loaded. **Collective**. UserError: as for choose_start().
template <class C>
RunPlan plan_run(const C& config, const RunFlags& flags, double timeout_s,
                 // NOLINTNEXTLINE(performance-unnecessary-value-param): moved from, where it is instantiated
                 std::map<std::string, int64_t> sequences_per_update, Communicator& ranks, Log& log) {
  RunPlan plan{.keys = {.request = {.output_dir = config.output_dir,
                                    .resume_from_checkpoint = config.checkpoints.resume_from_checkpoint,
                                    .new_run = flags.new_run,
                                    .allow_config_change = flags.allow_config_change,
                                    .resolved_config = resolved_yaml(config),
                                    .measured = measured_by(config.checkpoints),
                                    .version = flags.version,
                                    .sequences_per_update = std::move(sequences_per_update),
                                    .is_long = flags.is_long},
                        .log_dir = config.logging_dir,
                        .track = config.track,
                        .checkpoints = config.checkpoints,
                        .logging_steps = config.logging_steps,
                        .timeout_s = timeout_s,
                        .resume_command = flags.resume_command,
                        .screen = flags.screen},
               .start = {}};
  plan.start = choose_start(plan.keys.request, ranks, log);
  return plan;
}

template <class Model>
CheckpointPart checkpoint_part(std::string name, const Model& model, Mesh& mesh,
                               std::function<std::optional<OptimizerShard>()> optimizer) {
  return {std::move(name), [&] { return gather_on_first(model, mesh); }, std::move(optimizer),
          [&](const std::filesystem::path& to, const NamedTensors& whole) { return model.write_files(to, whole); }};
}

/// The part of a checkpoint besides the weights and optimizers of the models.
struct RunState {
  Json state;
  std::vector<CheckpointPart> parts;
};

class Run {
 public:
  /// Prepares the run folder, log.txt and the trackers on rank 0, and removes records of steps after the plan's
  /// checkpoint. **Collective**. UserError: a rank does not see the folder, or another run has begun there since.
  Run(RunPlan plan, int64_t last_step, const RunFace& face, Communicator& ranks, Log& log);

  const RunFolder& folder() const { return folder_; }
  int64_t first_step() const { return start_.resume ? start_.resume->step + 1 : 1; }
  /// Returns the run's last step; an earlier one once it ends early.
  int64_t last_step() const { return last_step_; }
  /// Returns true at every `every`-th step (0 or less: never) and at the last step.
  bool is_due(int64_t step, int64_t every) const { return step == last_step_ || (every > 0 && step % every == 0); }
  /// Sends the step's metrics to the trackers, with time/checkpoint if training waited for a checkpoint since the last
  /// call. May end the run at this step (early_stopping_patience). All ranks pass the same metrics. SystemError: the
  /// run folder is gone.
  void track(int64_t step, Metrics metrics);
  /// Returns a recorder of this rank's work from now on, if profiler_timeline records this step: the second, since the
  /// first warms up.
  std::optional<OperatorTrace> step_timeline(int64_t step) const;
  /// Shows a response with its verdict on the screen.
  void show(ShownSample sample);
  /// Closes the screen and prints the run's warnings. SystemError: the run folder is gone.
  void finish();
  /// Saves a checkpoint if save_steps, a best validation or an earlier failure requires one. **Collective**.
  /// SystemError: the last step's checkpoint fails.
  void save_if_due(int64_t step, const std::function<RunState()>& state);
  /// Saves unsaved steps and throws Stopped, with the command to resume. **Collective**. SystemError: saving fails.
  [[noreturn]] void stop(const Stopped& stopped, int64_t step, const std::function<RunState()>& state);

 private:
  bool save(int64_t step, const std::function<RunState()>& state);
  void require_saved(int64_t step);
  void require_folder(int64_t step) const;
  void end_early(int64_t step);
  void warn_unmeasured(int64_t step, const MetricValues& values);
  void start(const RunFace& face);

  RunKeys keys_;
  RunStart start_;
  int64_t last_step_;
  Communicator& ranks_;
  Log& log_;
  RunFolder folder_;
  Saver saver_;
  std::optional<Tracker> tracker_;  // rank 0 only
  bool is_overdue_ = false;
  double save_s_ = 0;  // not yet in the metrics
  int64_t saving_step_ = -1;
  bool has_warned_unmeasured_ = false;
  int64_t measured_step_ = -1;  // step of the last metric_for_best_model
  double measured_ = 0;
  std::optional<double> best_;
  EarlyStop early_stop_;
};

}  // namespace roll
