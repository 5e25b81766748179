#include "train/run.h"

#include "base/file.h"

namespace roll {

Run::Run(RunKeys keys, int64_t last_step, std::vector<std::string> headline, Communicator& ranks, Log& log)
    : keys_(std::move(keys)), last_step_(last_step), ranks_(ranks), folder_(keys_.output_dir) {
  if (!ranks.is_first()) return;
  folder_.start(keys_.resolved_config, log);
  log.copy_to(std::filesystem::path(keys_.log_dir) / "log.txt");
  tracker_.emplace(TrackerOptions{.track_with = keys_.track.track_with,
                                  .output_dir = folder_.path(),
                                  .tensorboard_dir = keys_.track.tracker_kwargs.log_dir.value_or(""),
                                  .headline = std::move(headline),
                                  .logging_steps = keys_.logging_steps,
                                  .last_step = last_step},
                   log);
}

void Run::track(int64_t step, const Metrics& metrics) {
  if (tracker_) tracker_->write(step, metrics.values());
}

void Run::save_if_due(int64_t step, const std::vector<CheckpointPart>& parts) {
  if (!is_due(step, keys_.save_steps)) return;
  ranks_.traffic().set_phase("checkpoint");
  std::vector<NamedTensors> weights;
  for (const auto& part : parts) weights.push_back(part.gather());
  if (ranks_.is_first())
    folder_.save_checkpoint(step, keys_.max_ckpt_to_keep, [&](const std::filesystem::path& folder) {
      for (size_t i = 0; i < parts.size(); ++i) {
        make_folder(folder / parts[i].folder);
        parts[i].write(folder / parts[i].folder, weights[i]);
      }
    });
  ranks_.barrier("checkpoint");
}

}  // namespace roll
