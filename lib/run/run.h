// Does the work of a training run around its steps, for all pipelines (lib/train): the run folder, log.txt, metrics,
// checkpoints, resuming, and the end. All ranks of the job have a Run; rank 0 writes most files.
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
  bool new_run = false;              // --new-run
  bool allow_config_change = false;  // --allow-config-change
  std::string resume_command;        // the user's command line with --resume, for messages
  std::string version;               // versions of program and libraries, recorded in checkpoints
  bool is_long = false;              // true if the policy uses LongRoPE's long factors (Rope::is_long)
  RunScreen* screen = nullptr;       // full-screen view, which must outlive the run; nullptr: output as lines
};

/// The part of a pipeline's configuration and flags that a Run needs; made by plan_run().
struct RunKeys {
  RunRequest request;
  std::optional<std::string> log_dir;  // folder of log.txt; nullopt: the run folder
  TrackConfig track;
  CheckpointConfig checkpoints;
  int64_t logging_steps;  // standard output shows the metrics of every n-th step
  double timeout_s;       // longest wait for another rank, in seconds
  std::string resume_command;
  RunScreen* screen;
};
/// The settings of a run and how it starts; plan_run() makes it, the Run takes it.
struct RunPlan {
  RunKeys keys;
  RunStart start;
};

/// Plans a run before models are loaded: decides the folder and the checkpoint to resume from (choose_start() in
/// run_start.h). **Collective** over `ranks`, all ranks of the job. `config` is a pipeline's configuration, such as
/// Config or DpoConfig, and `timeout_s` the longest wait for another rank in seconds. `sequences_per_update` counts, by
/// role, the sequences of one update over all ranks. Throws UserError if the folder holds a run that is not to be
/// resumed, a checkpoint cannot be used, or the configuration would change the training.
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

/// Returns the part of a checkpoint for a model on `mesh`, the ranks that hold it, in the folder `name`. `Model` is a
/// model class with write_files() that gather_on_first() accepts (step/roles.h). `optimizer` returns this rank's shard
/// of the optimizer state (saver.h). `model` and `mesh` must outlive the part.
template <class Model>
CheckpointPart checkpoint_part(std::string name, const Model& model, Mesh& mesh,
                               std::function<std::optional<OptimizerShard>()> optimizer) {
  return {std::move(name), [&] { return gather_on_first(model, mesh); }, std::move(optimizer),
          [&](const std::filesystem::path& to, const NamedTensors& whole) { return model.write_files(to, whole); }};
}

/// The contents of a checkpoint that the pipeline provides.
struct RunState {
  Json state;                         // state.json: everything but tensors
  std::vector<CheckpointPart> parts;  // the models (saver.h)
};

/// The pipeline calls track() and then save_if_due() for each step, and finish() at the end. After a stop request it
/// calls stop() instead of the next step. All ranks call these functions, each from one thread.
class Run {
 public:
  /// Prepares the run folder, log.txt and the metrics' files on rank 0. If the run resumes, removes records of later
  /// steps than the checkpoint's, and renames later checkpoints. `last_step` is the last step to train; `face` has the
  /// run's name, its headline metrics and what the screen shows all the time. `ranks`, all ranks of the job, and `log`
  /// must outlive the run. **Collective** over `ranks`, as are the functions below that say so. Throws UserError if a
  /// rank does not see the folder (hosts must share it), or another run began in the folder after plan_run().
  Run(RunPlan plan, int64_t last_step, const RunFace& face, Communicator& ranks, Log& log);

  const RunFolder& folder() const { return folder_; }
  /// Returns the first step to train: 1, or the one after the checkpoint's.
  int64_t first_step() const { return start_.resume ? start_.resume->step + 1 : 1; }
  /// Returns the last step to train. It becomes smaller when the run ends early (early_stopping_patience), so loops
  /// must ask again after each track().
  int64_t last_step() const { return last_step_; }
  /// Returns true if `step` is a multiple of `every`, or the last step. With `every` <= 0, only the last step counts.
  bool is_due(int64_t step, int64_t every) const { return step == last_step_ || (every > 0 && step % every == 0); }
  /// Writes the step's metrics to standard output, screen and files (on rank 0), and adds time/checkpoint if training
  /// waited for a checkpoint since the last call. May decide that the run ends with this step
  /// (early_stopping_patience). Call it on all ranks with the same metrics, so that all decide alike. Throws
  /// SystemError if the run folder is gone.
  void track(int64_t step, Metrics metrics);
  /// Begins to record a trace of this rank's operators and returns the recorder; the caller calls save() after the
  /// step. Returns nullopt unless the key profiler_timeline is true and `step` is this process's second step (the first
  /// warms up), or its only one.
  std::optional<OperatorTrace> step_timeline(int64_t step) const;
  /// Shows a response with its reward on the full-screen view; does nothing without one, and on other ranks than 0.
  void show(ShownSample sample);
  /// Ends the metrics' files, closes the screen and logs the run's warnings, on rank 0. Call it after the last step.
  /// Throws SystemError if the run folder is gone.
  void finish();
  /// Saves a checkpoint of `step` if save_steps, a new best value of metric_for_best_model or the failure of an earlier
  /// checkpoint requires one, and after the last step. Calls `state` only then, on all ranks. Files are written while
  /// training goes on, except after the last step. **Collective**. A checkpoint that fails is tried again after the
  /// next step; throws SystemError if the last step's fails, or a weight is not finite.
  void save_if_due(int64_t step, const std::function<RunState()>& state);
  /// Obeys a stop request: saves a checkpoint of `step`, the last one that was done, unless it is saved, waits for its
  /// files, and throws Stopped with the command to resume in its text. `state` is called only to save, and must return
  /// the state after `step`. If this process has done no step, only throws. **Collective**. Throws SystemError if
  /// saving fails.
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
  bool is_overdue_ = false;         // an earlier checkpoint failed, so the next step is saved
  double save_s_ = 0;               // training's wait for checkpoints that is not yet in the metrics
  int64_t saving_step_ = -1;        // step of the last checkpoint that was begun
  bool has_warned_unmeasured_ = false;
  int64_t measured_step_ = -1;  // step of the last metric_for_best_model
  double measured_ = 0;
  std::optional<double> best_;
  EarlyStop early_stop_;
};

}  // namespace roll
