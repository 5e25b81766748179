#include "run/run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "config/node_json.h"
#include "config/yaml.h"
#include "dist/agree.h"
#include "records/rollout_files.h"
#include "track/mlflow.h"
#include "track/time_spent.h"
#include "track/truncate.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Points `latest` in output_dir to this run's folder, with --new-run.
void link_latest(const RunRequest& request, const fs::path& folder) {
  if (request.new_run) link_atomic(folder.filename(), fs::path(request.output_dir) / "latest");
}

/// Removes the trackers' records of steps after `step`.
void remove_later_records(const TrackerOptions& options, int64_t step) {
  for (const char* name : {"metrics.jsonl", kHistogramFile}) truncate_jsonl(options.output_dir / name, step);
  truncate_csv(options.output_dir / "metrics.csv", step);
  truncate_mlflow(mlflow_run_folder({options.mlflow_store, options.experiment, options.run, options.name}), step);
  truncate_tensorboard(options.tensorboard_dir, options.run, step);
  truncate_wandb(options.wandb_dir, options.run, step);
}

Keeping make_keeping(const CheckpointConfig& config) {
  return {config.max_ckpt_to_keep, config.best_ckpt_to_keep, config.greater_is_better, measured_by(config)};
}

}  // namespace

Run::Run(RunPlan plan, int64_t last_step, const RunFace& face, Communicator& ranks, Log& log)
    : keys_(std::move(plan.keys)),
      start_(std::move(plan.start)),
      last_step_(last_step),
      ranks_(ranks),
      log_(log),
      folder_(start_.folder),
      saver_(CheckpointStore(folder_.checkpoints()), make_keeping(keys_.checkpoints), keys_.timeout_s, ranks, log),
      early_stop_(keys_.checkpoints) {
  if (start_.resume) {
    best_ = start_.resume->best_metric;
    early_stop_.load(start_.resume->early_stop);
  }
  agree(ranks, [&] {
    if (ranks.is_first()) start(face);
  });
  agree(ranks, [&] {
    if (!is_there(folder_.path() / kRunFile))
      throw user_error(
          "output_dir = {}: rank {} does not see the files that rank 0 wrote there; choose a folder that all hosts "
          "share",
          folder_.path().string(), ranks.rank());
  });
  if (early_stop_.is_over()) end_early(first_step() - 1);  // it had ended early before
}

/// Runs on rank 0.
void Run::start(const RunFace& face) {
  if (!start_.lock) start_.lock = folder_.lock();
  if (!start_.continues_run) refuse_run_in(folder_.path());  // another run may have begun and ended since
  folder_.start(start_.run, keys_.request.resolved_config);
  link_latest(keys_.request, folder_.path());
  const CheckpointStore store(folder_.checkpoints());
  store.sweep();
  store.check_links();
  const fs::path log_folder = keys_.log_dir.value_or(folder_.path().string());
  make_folder(log_folder);
  log_.copy_to(log_folder / "log.txt");
  const int64_t step = first_step() - 1;
  if (start_.resume && step >= last_step())
    log_.say("step {} is done, and it is the last one; set a larger max_steps to continue", step);
  else if (start_.resume)
    log_.info("resuming after step {}, from {}", step, start_.resume->folder.string());
  if (start_.continues_run && !start_.resume)
    log_.info("{}: no checkpoint yet; starting from the beginning", folder_.path().string());
  const TrackerKwargs& kwargs = keys_.track.tracker_kwargs;
  TrackerOptions options{.track_with = keys_.track.track_with,
                         .output_dir = folder_.path(),
                         .tensorboard_dir = kwargs.log_dir.value_or((folder_.path() / "tensorboard").string()),
                         .run = start_.run,
                         .headline = face.headline,
                         .logging_steps = keys_.logging_steps,
                         .screen = keys_.screen,
                         .mlflow_store = kwargs.tracking_uri.value_or((folder_.path() / "mlruns").string()),
                         .experiment = kwargs.experiment_name.value_or(face.name),
                         .name = face.name,
                         .wandb_dir = folder_.path() / "wandb",
                         .project = kwargs.project.value_or(face.name),
                         .config = to_json(parse_yaml(keys_.request.resolved_config, "the configuration"))};
  if (start_.continues_run) {
    const int64_t num_superseded = store.supersede_after(step);
    if (num_superseded > 0) log_.info("{} later checkpoints are now named .superseded", num_superseded);
    // The run may have died just before these.
    if (start_.resume && is_there(store.path(step))) store.mark_latest(step);
    store.rotate(start_.run, make_keeping(keys_.checkpoints));
    remove_later_records(options, start_.resume ? step : -1);
    take_back_rollouts(folder_.samples(), "step_", step);
  }
  if (keys_.screen) {
    keys_.screen->begin(face, first_step(), last_step_);
    log_.show_on(keys_.screen);
  }
  tracker_.emplace(options, log_);
}

std::optional<OperatorTrace> Run::step_timeline(int64_t step) const {
  if (!keys_.track.profiler_timeline || step != std::min(first_step() + 1, last_step_)) return std::nullopt;
  const fs::path folder = keys_.track.profiler_output_dir.value_or(folder_.timeline().string());
  return std::optional<OperatorTrace>(std::in_place,
                                      folder / fmt::format("step_{:06}_rank_{}.json", step, ranks_.rank()));
}

void Run::track(int64_t step, Metrics metrics) {
  require_folder(step);
  if (save_s_ > 0) metrics.add("time/checkpoint", std::exchange(save_s_, 0));
  const MetricValues values = metrics.values();
  warn_unmeasured(step, values);
  for (const auto& [name, value] : values)
    if (name == keys_.checkpoints.metric_for_best_model && std::isfinite(value)) {
      measured_step_ = step;
      measured_ = value;
      early_stop_.observe(value);
      if (early_stop_.is_over() && step < last_step_) end_early(step);
    }
  if (tracker_) tracker_->write(step, values, last_step_);
}

/// SystemError: the folder or its lock was removed or renamed, so that open files and lock are lost.
void Run::require_folder(int64_t step) const {
  if (!start_.lock || start_.lock->is_in_place()) return;
  throw system_error(
      "output_dir = {}: the run folder, or its {}, was removed, renamed or replaced during the run; the metrics and "
      "the log of step {} are lost, and so is the training since the last checkpoint that still exists. Put the folder "
      "back and resume with: {}",
      folder_.path().string(), kLockFile, step, keys_.resume_command);
}

/// Warns once that metric_for_best_model was not measured when expected: in a validation if it is a metric of
/// validations, else in any step.
void Run::warn_unmeasured(int64_t step, const MetricValues& values) {
  const CheckpointConfig& config = keys_.checkpoints;
  const std::string& metric_name = config.metric_for_best_model;
  if (has_warned_unmeasured_ || !log_.is_first() ||
      (config.early_stopping_patience == 0 && config.best_ckpt_to_keep == 0))
    return;
  const auto is_validation = [](const auto& value) { return value.first.starts_with("val"); };
  const bool is_validation_metric = metric_name.starts_with("val");
  if (is_validation_metric ? std::ranges::none_of(values, is_validation) : step == 0) return;
  if (std::ranges::any_of(values, [&](const auto& value) { return value.first == metric_name; })) return;
  has_warned_unmeasured_ = true;
  std::vector<std::string> measured;
  for (const auto& [name, value] : values) measured.push_back(name);
  log_.warn(
      "metric_for_best_model = {}: was not measured in step {}; until it is, no checkpoint counts as the best and the "
      "run does not stop early{}",
      metric_name, step, did_you_mean(metric_name, measured));
}

void Run::end_early(int64_t step) {
  last_step_ = step;
  const CheckpointConfig& config = keys_.checkpoints;
  log_.say(
      "early stop after step {}: {} was measured {} times without improving{} on its best, {:.4g} "
      "(early_stopping_patience = {})",
      step, config.metric_for_best_model, early_stop_.waited(),
      config.early_stopping_threshold > 0 ? fmt::format(" by more than {:g}", config.early_stopping_threshold) : "",
      early_stop_.best().value(), config.early_stopping_patience);
}

void Run::show(ShownSample sample) {
  if (keys_.screen && tracker_) keys_.screen->show_sample(std::move(sample));
}

void Run::finish() {
  require_folder(last_step_);
  if (!tracker_) return;
  tracker_->finish();
  log_.show_on(nullptr);
  if (keys_.screen) keys_.screen->close();
  if (const std::string spent = time_spent(tracker_->history()); !spent.empty()) log_.info("{}", spent);
  if (tracker_->warnings().empty()) return;
  log_.say("warnings of this run:");
  for (const Warning& warning : tracker_->warnings()) log_.say("  step {}: {}", warning.step, warning.text);
}

bool Run::save(int64_t step, const std::function<RunState()>& make) {
  const Stopwatch watch;
  agree(ranks_, [&] { require_folder(step); });
  const RunState run_state = make();
  Checkpoint checkpoint{.step = step,
                        .about = about_checkpoint(keys_.request, start_.run),
                        .state = run_state.state,
                        .config = keys_.request.resolved_config,
                        .parts = run_state.parts};
  if (measured_step_ == step) checkpoint.about["metric"] = measured_;
  if (best_) checkpoint.about["best_metric"] = *best_;
  checkpoint.about["early_stopping"] = early_stop_.state();
  const bool is_begun = saver_.save(checkpoint);
  save_s_ += watch.seconds();
  if (!is_begun) return false;
  saving_step_ = step;
  return true;
}

void Run::save_if_due(int64_t step, const std::function<RunState()>& state) {
  if (saver_.failed(/*waits=*/false)) is_overdue_ = true;
  const bool is_better = measured_step_ == step &&
                         (!best_ || (keys_.checkpoints.greater_is_better ? measured_ > *best_ : measured_ < *best_));
  if (is_better) best_ = measured_;
  const bool is_best = is_better && keys_.checkpoints.best_ckpt_to_keep > 0;
  if (!is_due(step, keys_.checkpoints.save_steps) && !is_overdue_ && !is_best) return;
  is_overdue_ = !save(step, state);
  if (step == last_step_) require_saved(step);
}

void Run::require_saved(int64_t step) {
  if (!is_overdue_ && !saver_.failed(/*waits=*/true)) return;
  throw system_error(
      "the checkpoint of step {} could not be written; free disk space or repair {}, then resume with: {}", step,
      folder_.checkpoints().string(), keys_.resume_command);
}

void Run::stop(const Stopped& stopped, int64_t step, const std::function<RunState()>& state) {
  if (step < first_step())
    throw Stopped(stopped.kind, fmt::format(" before a step was done; start with: {}", keys_.resume_command));
  if (saving_step_ != step || saver_.failed(/*waits=*/true)) is_overdue_ = !save(step, state);
  require_saved(step);
  throw Stopped(stopped.kind,
                fmt::format(" after step {}, which is saved; resume with: {}", step, keys_.resume_command));
}

}  // namespace roll
