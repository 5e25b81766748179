// Keys of what is shown and recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/names.h"

namespace roll {

/// Where metrics go. Web services are not written to: what they are sent is read from metrics.jsonl afterwards.
enum class TrackerKind { kStdout, kJsonl, kTensorboard, kCsv, kMlflow, kService };
constexpr auto names_of(TrackerKind) {
  return std::to_array<Named<TrackerKind>>({{TrackerKind::kStdout, "stdout"},
                                            {TrackerKind::kJsonl, "jsonl"},
                                            {TrackerKind::kTensorboard, "tensorboard"},
                                            {TrackerKind::kCsv, "csv"},
                                            {TrackerKind::kMlflow, "mlflow"},
                                            {TrackerKind::kService, "wandb"},
                                            {TrackerKind::kService, "swanlab"},
                                            {TrackerKind::kService, "ml_tracker"}});
}

struct TrackerKwargs {
  std::optional<std::string> log_dir;
  std::optional<std::string> tracking_uri;
  std::optional<std::string> experiment_name;

  template <class V>
  void fields(V& v) {
    v("log_dir", log_dir, "folder of the TensorBoard files; null: output_dir/tensorboard");
    v("tracking_uri", tracking_uri,
      "folder of MLflow's file store, which MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri FOLDER shows "
      "and mlflow migrate-filestore moves into a database; null: output_dir/mlruns");
    v("experiment_name", experiment_name, "the experiment there; null: exp_name");
    v.noted({"project", "notes", "tags", "name", "login_kwargs", "api_key", "id", "mode"},
            "trackers write files; none is a web service");
  }
};

struct TrackConfig {
  std::vector<TrackerKind> track_with = {TrackerKind::kStdout, TrackerKind::kJsonl, TrackerKind::kTensorboard};
  TrackerKwargs tracker_kwargs;

  template <class V>
  void fields(V& v) {
    v("track_with", track_with,
      "where metrics go: one, or a list. stdout, and files: jsonl (metrics.jsonl), tensorboard, csv (metrics.csv), "
      "mlflow (its file store). Nothing is sent to wandb and swanlab: they mean stdout, jsonl and tensorboard, and "
      "scripts/upload_metrics.py uploads metrics.jsonl");
    v("tracker_kwargs", tracker_kwargs, "settings of the trackers");
  }
};

}  // namespace roll
