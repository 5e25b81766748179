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

/// A destination of metrics, such as a file.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Writes the metrics of one step and flushes them to the operating system. Steps ascend. Throws SystemError if they
  /// cannot be written.
  virtual void write(int64_t step, const MetricValues& values) = 0;
  /// Called at the end of the run; a resumed run may still write more steps.
  virtual void finish() {}
};

/// Makes a sink that appends to a metrics.jsonl. A line is {"step": 12, "utc": "2026-11-28T18:12:01Z", name: value,
/// ...} with 9 significant digits, and null for NaN and infinities.
std::unique_ptr<Sink> make_jsonl_sink(const std::filesystem::path& file);
/// Makes a sink that appends to a metrics.csv: a row per step; a column is added when a metric first appears.
std::unique_ptr<Sink> make_csv_sink(const std::filesystem::path& file);
/// Makes a sink that writes a new TensorBoard event file in `folder`; the file's name contains the run id `run`.
std::unique_ptr<Sink> make_tensorboard_sink(const std::filesystem::path& folder, const std::string& run);

/// A growing JSON-lines file; each line is flushed to the operating system before write() returns.
class JsonLinesFile {
 public:
  /// Opens the file to append, and creates it and its folder if missing. Throws SystemError if the folder cannot be
  /// made, UserError if the file cannot be opened.
  explicit JsonLinesFile(std::filesystem::path file);
  /// Appends a line. Throws SystemError if it cannot be written.
  void write(const Json& line);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

/// Settings of a Tracker. Those of trackers that are not in track_with are ignored.
struct TrackerOptions {
  std::vector<TrackerKind> track_with;    // destinations; kService is not allowed
  std::filesystem::path output_dir;       // folder of metrics.jsonl, metrics.csv and histograms.jsonl
  std::filesystem::path tensorboard_dir;  // folder of the event files
  std::string run{};                      // run id, constant over restarts
  Headline headline{};                    // metrics shown on standard output; files have all metrics
  int64_t logging_steps = 1;              // standard output shows every n-th step; files have all steps
  RunScreen* screen = nullptr;            // full-screen view, which must outlive the Tracker; nullptr: no screen
  std::filesystem::path mlflow_store{};   // folder of MLflow's file store
  std::string experiment{};               // MLflow's experiment
  std::string name{};                     // display name of the run in MLflow and W&B
  std::filesystem::path wandb_dir{};      // folder of W&B's files
  std::string project{};                  // W&B project
  Json config{};                          // the run's configuration, shown by W&B
};

/// Writes metrics to all sinks and keeps their history.
class Tracker {
 public:
  /// Reads the history of a resumed run from output_dir/metrics.jsonl, if it exists, and opens the sinks. `log` must
  /// outlive the object. Throws UserError if metrics.jsonl is malformed or a file cannot be opened, SystemError if a
  /// folder cannot be made, Bug for kService.
  Tracker(const TrackerOptions& options, Log& log);
  /// Writes a step to all sinks. values: reduced over all ranks. `step` must be above the one before. Standard output
  /// shows every logging_steps-th step and `last_step`, the run's last; nothing if last_step is 0. Histograms
  /// (histogram.h) go to a separate file. Throws SystemError if a sink cannot be written.
  void write(int64_t step, MetricValues values, int64_t last_step);
  /// Calls Sink::finish() of all sinks. Call it at the end of the run.
  void finish();

  const MetricHistory& history() const { return history_; }
  /// Warnings raised so far, oldest first.
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
