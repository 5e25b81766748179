#include "track/tracker.h"

#include "base/error.h"

namespace roll {

Tracker::Tracker(const TrackerOptions& options, Log& log)
    : logging_steps_(options.logging_steps), last_step_(options.last_step) {
  for (const TrackerKind kind : options.track_with) {
    switch (kind) {
      case TrackerKind::kStdout:
        stdout_ = make_stdout_sink(log, options.headline);
        break;
      case TrackerKind::kJsonl:
        sinks_.push_back(make_jsonl_sink(options.output_dir / "metrics.jsonl"));
        break;
      case TrackerKind::kTensorboard:
        sinks_.push_back(make_tensorboard_sink(options.tensorboard_dir, options.run));
        break;
      case TrackerKind::kService:
        throw Bug("a web service stands for the other three");
    }
  }
}

void Tracker::write(int64_t step, const MetricValues& values) {
  for (const auto& sink : sinks_) sink->write(step, values);
  if (stdout_ && (step % logging_steps_ == 0 || step == last_step_)) stdout_->write(step, values);
}

}  // namespace roll
