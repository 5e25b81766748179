// Keys of what is shown and recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/names.h"

namespace roll {

/// Where metrics go. Web services are not written to.
enum class TrackerKind { kStdout, kJsonl, kTensorboard, kService };
constexpr auto names_of(TrackerKind) {
  return std::to_array<Named<TrackerKind>>({{TrackerKind::kStdout, "stdout"},
                                            {TrackerKind::kJsonl, "jsonl"},
                                            {TrackerKind::kTensorboard, "tensorboard"},
                                            {TrackerKind::kService, "wandb"},
                                            {TrackerKind::kService, "swanlab"},
                                            {TrackerKind::kService, "mlflow"},
                                            {TrackerKind::kService, "ml_tracker"}});
}

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
  std::vector<TrackerKind> track_with = {TrackerKind::kStdout, TrackerKind::kJsonl, TrackerKind::kTensorboard};
  TrackerKwargs tracker_kwargs;

  template <class V>
  void fields(V& v) {
    v("track_with", track_with, "where metrics go: one, or a list; a web service means the first three");
    v("tracker_kwargs", tracker_kwargs, "settings of the trackers");
  }
};

}  // namespace roll
