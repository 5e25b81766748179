#include "track/tracker.h"

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

const std::vector<std::string>& sink_names() {
  static const std::vector<std::string> kNames = {"stdout", "jsonl", "tensorboard"};
  return kNames;
}

Tracker::Tracker(const TrackerOptions& options, Log& log, const std::string& origin) {
  const auto tensorboard =
      options.tensorboard_dir.empty() ? options.output_dir / "tensorboard" : options.tensorboard_dir;
  for (const std::string& name : options.track_with) {
    if (name == "stdout") {
      sinks_.push_back(make_stdout_sink(log, options.headline));
    } else if (name == "jsonl") {
      sinks_.push_back(make_jsonl_sink(options.output_dir / "metrics.jsonl"));
    } else if (name == "tensorboard") {
      sinks_.push_back(make_tensorboard_sink(tensorboard));
    } else {
      throw user_error("{} = {}: must name stdout, jsonl or tensorboard{}", origin, name,
                       did_you_mean(name, sink_names()));
    }
  }
}

void Tracker::write(int64_t step, const MetricValues& values) {
  for (const auto& sink : sinks_) sink->write(step, values);
}

}  // namespace roll
