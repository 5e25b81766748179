// Keys of what is shown and recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

struct TrackerKwargs {
  std::optional<std::string> log_dir;

  template <class V>
  void fields(V& v) {
    v("log_dir", log_dir, "folder of the TensorBoard files; null: output_dir/tensorboard");
    v.noted({"project", "notes", "tags", "name", "login_kwargs", "experiment_name", "tracking_uri", "api_key", "id",
             "mode"},
            "trackers write files; none is a web service");
  }
};

struct TrackConfig {
  std::vector<std::string> track_with = {"stdout", "jsonl", "tensorboard"};
  TrackerKwargs tracker_kwargs;

  template <class V>
  void fields(V& v) {
    v.choice("track_with", track_with, {"stdout", "jsonl", "tensorboard", "wandb", "swanlab", "mlflow"},
             "where metrics go: one, or a list; a web service means the first three");
    v("tracker_kwargs", tracker_kwargs, "settings of the trackers");
  }
};

}  // namespace roll
