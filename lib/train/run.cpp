#include "train/run.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "dist/agree.h"
#include "track/take_back.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Under --new-run, `latest` in output_dir leads to this run's folder.
void link_latest(const RunWish& wish, const fs::path& folder) {
  if (wish.new_run) link_atomic(folder.filename(), fs::path(wish.output_dir) / "latest");
}

Keeping keeping_of(const CheckpointConfig& config) {
  return {config.max_ckpt_to_keep, config.best_ckpt_to_keep, config.greater_is_better};
}

}  // namespace

Run::Run(RunPlan plan, int64_t last_step, std::vector<std::string> headline, Communicator& ranks, Log& log)
    : keys_(std::move(plan.keys)),
      start_(std::move(plan.start)),
      last_step_(last_step),
      ranks_(ranks),
      log_(log),
      folder_(start_.folder),
      saver_(CheckpointStore(folder_.checkpoints()), keeping_of(keys_.checkpoints), keys_.timeout_s, ranks, log) {
  if (start_.resume) best_ = start_.resume->best_metric;
  agree(ranks, [&] {
    if (!ranks.is_first()) return;
    start_.lock = folder_.start(start_.run, keys_.wish.resolved_config, std::move(start_.lock));
    link_latest(keys_.wish, folder_.path());
    const CheckpointStore store(folder_.checkpoints());
    store.sweep();
    log.copy_to(fs::path(keys_.log_dir.value_or(folder_.path().string())) / "log.txt");
    const int64_t step = first_step() - 1;
    if (start_.resume) log.info("going on after step {}, from {}", step, start_.resume->folder.string());
    if (start_.goes_on && !start_.resume) log.info("{}: no checkpoint yet; beginning again", folder_.path().string());
    const fs::path tensorboard = keys_.track.tracker_kwargs.log_dir.value_or((folder_.path() / "tensorboard").string());
    if (start_.goes_on) {
      const int64_t aside = store.supersede_after(step);
      if (aside > 0) log.info("{} later checkpoints are now named .superseded", aside);
      // The run may have died just before it did these.
      if (start_.resume && is_there(store.path(step))) store.mark_latest(step);
      store.rotate(start_.run, keeping_of(keys_.checkpoints));
      take_back_jsonl(folder_.metrics(), start_.resume ? step : -1);
      take_back_tensorboard(tensorboard, start_.run, start_.resume ? step : -1);
    }
    tracker_.emplace(TrackerOptions{.track_with = keys_.track.track_with,
                                    .output_dir = folder_.path(),
                                    .tensorboard_dir = tensorboard,
                                    .run = start_.run,
                                    .headline = std::move(headline),
                                    .logging_steps = keys_.logging_steps,
                                    .last_step = last_step},
                     log);
  });
  agree(ranks, [&] {
    if (!is_there(folder_.path() / kRunFile))
      throw user_error(
          "output_dir = {}: rank {} does not see what rank 0 has written there; hosts need a folder that "
          "they share",
          folder_.path().string(), ranks.rank());
  });
}

void Run::track(int64_t step, Metrics metrics) {
  if (save_s_ > 0) metrics.add("time/checkpoint", std::exchange(save_s_, 0));
  const MetricValues values = metrics.values();
  for (const auto& [name, value] : values)
    if (name == keys_.checkpoints.metric_for_best_model && std::isfinite(value))
      measured_step_ = step, measured_ = value;
  if (tracker_) tracker_->write(step, values);
}

bool Run::save(int64_t step, const std::function<RunState()>& make) {
  const Stopwatch watch;
  const RunState made = make();
  Checkpoint checkpoint{.step = step,
                        .about = about_checkpoint(keys_.wish, start_.run, step),
                        .state = made.state,
                        .config = keys_.wish.resolved_config,
                        .parts = made.parts};
  if (measured_step_ == step) checkpoint.about["metric"] = measured_;
  if (best_) checkpoint.about["best_metric"] = *best_;
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
  throw system_error("the checkpoint of step {} could not be written; make room or mend {}, then go on with: {}", step,
                     folder_.checkpoints().string(), keys_.resume_command);
}

void Run::stop(const Stopped& stopped, int64_t step, const std::function<RunState()>& state) {
  if (step < first_step())
    throw Stopped(stopped.kind, fmt::format(" before a step was done; begin with: {}", keys_.resume_command));
  if (saving_step_ != step || saver_.failed(/*waits=*/true)) is_overdue_ = !save(step, state);
  require_saved(step);
  throw Stopped(stopped.kind,
                fmt::format(" after step {}, which is saved; go on with: {}", step, keys_.resume_command));
}

}  // namespace roll
