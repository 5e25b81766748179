// Where the metrics of a step go: standard output, the screen, files; and what is worth a warning. Only rank 0 makes a
// Tracker.
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

class Sink {
 public:
  virtual ~Sink() = default;
  /// Writes one step and hands it to the operating system before returning. SystemError.
  virtual void write(int64_t step, const MetricValues& values) = 0;
  /// The run has come to its end.
  virtual void finish() {}
};

/// One object per line: {"step": 12, "utc": "2026-11-28T18:12:01Z", name: value, ...}, 9 significant digits, null
/// for NaN and infinities. Appends.
std::unique_ptr<Sink> make_jsonl_sink(const std::filesystem::path& file);
/// A row per step, as metrics.jsonl's lines; a column per metric, added where one is first seen. Appends.
std::unique_ptr<Sink> make_csv_sink(const std::filesystem::path& file);
/// A TensorBoard event file of scalars in `folder` (TFRecord framing, Event protobuf), with the run in its name.
std::unique_ptr<Sink> make_tensorboard_sink(const std::filesystem::path& folder, const std::string& run);

/// A file of JSON lines that grows; each is handed to the operating system before write() returns.
class JsonLinesFile {
 public:
  /// Makes the file's folder. UserError as open_to_append(). SystemError.
  explicit JsonLinesFile(std::filesystem::path file);
  /// SystemError.
  void write(const Json& line);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

struct TrackerOptions {
  std::vector<TrackerKind> track_with;  // no web service
  std::filesystem::path output_dir;     // metrics.jsonl and metrics.csv go here
  std::filesystem::path tensorboard_dir;
  std::string run{};            // names the run over all its restarts
  Headline headline{};          // what people follow on standard output; the files hold everything
  int64_t logging_steps = 1;    // standard output shows every so many steps; the files hold them all
  RunScreen* screen = nullptr;  // where there is one
  std::filesystem::path mlflow_store{};
  std::string experiment{}, name{};  // in that store
  std::filesystem::path wandb_dir{};
  std::string project{};  // of W&B's run
  Json config{};          // that it shows
};

class Tracker {
 public:
  /// What output_dir holds of earlier steps is the history's beginning. UserError: metrics.jsonl is none.
  Tracker(const TrackerOptions& options, Log& log);
  /// Every step in order; the last one's line is always shown. Histograms (track/histogram.h) go to their own file.
  void write(int64_t step, MetricValues values, int64_t last_step);
  /// The run has come to its end; it may still go on another time.
  void finish();

  const MetricHistory& history() const { return history_; }
  const std::vector<Warning>& warnings() const { return watch_.begun(); }

 private:
  void show_on_screen();

  Log& log_;
  Headline headline_;
  int64_t logging_steps_;
  bool shows_steps_ = false;
  RunScreen* screen_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::optional<JsonLinesFile> histograms_;  // beside metrics.jsonl
  MetricHistory history_;
  Watch watch_;
};

}  // namespace roll
