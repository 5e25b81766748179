// Sends a step's metrics to standard output, the screen and files, and raises warnings. Only rank 0 has a Tracker.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "track/config.h"
#include "track/histogram.h"
#include "track/history.h"
#include "track/metrics.h"
#include "track/screen.h"
#include "track/step_line.h"
#include "track/warning_rules.h"

namespace roll {

/// A destination of metrics.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Writes one step and flushes it to the operating system. SystemError: it cannot be written.
  virtual void write(int64_t step, const MetricValues& values) = 0;
  /// Marks the end of the run.
  virtual void finish() {}
};

/// Makes metrics.jsonl: {"step": 12, "utc": "2026-11-28T18:12:01Z", name: value, ...} per line, 9 significant digits,
/// null for NaN and infinities. Appends.
std::unique_ptr<Sink> make_jsonl_sink(const std::filesystem::path& file);
/// Makes metrics.csv: a row per step; columns are added when a metric first appears. Appends.
std::unique_ptr<Sink> make_csv_sink(const std::filesystem::path& file);
/// Makes a TensorBoard event file with scalars in `folder`; its name contains the run.
std::unique_ptr<Sink> make_tensorboard_sink(const std::filesystem::path& folder, const std::string& run);

/// A growing JSON-lines file; each line is flushed to the operating system before write() returns.
class JsonLinesFile {
 public:
  /// Creates the file's folder. UserError: as open_to_append(). SystemError: the folder cannot be made.
  explicit JsonLinesFile(std::filesystem::path file);
  /// SystemError: the line cannot be written.
  void write(const Json& line);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

struct TrackerOptions {
  std::vector<TrackerKind> track_with;  // without kService
  std::filesystem::path output_dir;     // folder of metrics.jsonl and metrics.csv
  std::filesystem::path tensorboard_dir;
  std::string run{};            // run id, constant over restarts
  Headline headline{};          // metrics on standard output; files hold all
  int64_t logging_steps = 1;    // standard output shows every n-th step; files hold all
  RunScreen* screen = nullptr;  // null: no screen
  std::filesystem::path mlflow_store{};
  std::string experiment{}, name{};  // names in the MLflow store
  std::filesystem::path wandb_dir{};
  std::string project{};  // W&B project
  Json config{};          // shown by W&B
};

/// Writes metrics to all sinks and keeps their history.
class Tracker {
 public:
  /// Starts with the history that output_dir holds from earlier steps. UserError: metrics.jsonl is malformed.
  Tracker(const TrackerOptions& options, Log& log);
  /// Writes a step; call in order. The last step is always shown. Histograms (track/histogram.h) go to their own file.
  void write(int64_t step, MetricValues values, int64_t last_step);
  /// Marks the end of the run; it may still be resumed later.
  void finish();

  const MetricHistory& history() const { return history_; }
  const std::vector<Warning>& warnings() const { return watch_.raised(); }

 private:
  void show_on_screen();

  Log& log_;
  Headline headline_;
  int64_t logging_steps_;
  bool shows_steps_ = false;
  RunScreen* screen_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::optional<JsonLinesFile> histograms_;  // file beside metrics.jsonl
  MetricHistory history_;
  WarningWatch watch_;
};

}  // namespace roll
