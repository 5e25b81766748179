// Configuration keys of metrics tracking and profiling. Members of the structs are keys; fields() has their help texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

/// Destinations of metrics. All are local: nothing is uploaded. kService stands for web services; loading the
/// configuration replaces it by stdout, jsonl and tensorboard.
enum class TrackerKind { kStdout, kJsonl, kTensorboard, kCsv, kMlflow, kWandb, kService };
constexpr auto enum_names(TrackerKind) {
  return std::to_array<Named<TrackerKind>>({{TrackerKind::kStdout, "stdout"},
                                            {TrackerKind::kJsonl, "jsonl"},
                                            {TrackerKind::kTensorboard, "tensorboard"},
                                            {TrackerKind::kCsv, "csv"},
                                            {TrackerKind::kMlflow, "mlflow"},
                                            {TrackerKind::kWandb, "wandb"},
                                            {TrackerKind::kService, "swanlab"},
                                            {TrackerKind::kService, "ml_tracker"}});
}

/// The section tracker_kwargs.
struct TrackerKwargs {
  std::optional<std::string> log_dir;
  std::optional<std::string> tracking_uri;
  std::optional<std::string> experiment_name;
  std::optional<std::string> project;

  void fields(Keys& v) {
    v("log_dir", log_dir, "folder of the TensorBoard files; null: output_dir/tensorboard");
    v("tracking_uri", tracking_uri,
      "folder of MLflow's file store; show it with MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri FOLDER, "
      "move it into a database with mlflow migrate-filestore; null: output_dir/mlruns");
    v("experiment_name", experiment_name, "MLflow's experiment; null: exp_name");
    v("project", project, "W&B's project; null: exp_name");
    v.noted({"notes", "tags", "name", "login_kwargs", "api_key", "id", "mode"},
            "trackers write files only, and send nothing to a web service");
  }
};

/// Keys at the top level of a configuration.
struct TrackConfig {
  std::vector<TrackerKind> track_with = {TrackerKind::kStdout, TrackerKind::kJsonl, TrackerKind::kTensorboard};
  TrackerKwargs tracker_kwargs;
  bool profiler_timeline = false;
  std::optional<std::string> profiler_output_dir;

  void fields(Keys& v) {
    v("track_with", track_with,
      "where metrics go, one or a list: stdout, jsonl (metrics.jsonl), tensorboard, csv (metrics.csv), mlflow (its "
      "file store), wandb (an offline run in output_dir/wandb, which `wandb sync` uploads; with stdout, jsonl and "
      "tensorboard). swanlab means stdout, jsonl and tensorboard: nothing is sent there, and scripts/upload_metrics.py "
      "uploads metrics.jsonl",
      may_change());
    v("tracker_kwargs", tracker_kwargs, "settings of the trackers", may_change());
    v("profiler_timeline", profiler_timeline,
      "each rank records the operators and GPU kernels of its second step, with their times, as "
      "step_NNNNNN_rank_N.json; ui.perfetto.dev shows it");
    v("profiler_output_dir", profiler_output_dir, "folder of the timelines; null: output_dir/timeline");
    v.noted({"profiler_memory"}, "metrics.jsonl holds the memory of each phase");
  }
};

}  // namespace roll
