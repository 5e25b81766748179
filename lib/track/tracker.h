// Where the metrics of a step go: standard output, metrics.jsonl, TensorBoard. Only rank 0 makes a Tracker.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "track/config.h"
#include "track/metrics.h"

namespace roll {

class Sink {
 public:
  virtual ~Sink() = default;
  /// Writes one step and hands it to the operating system before returning. SystemError.
  virtual void write(int64_t step, const MetricValues& values) = 0;
};

/// A compact table per step on a terminal, one line "step 12 | name value | ..." elsewhere. Shows the metrics that
/// `headline` names, in its order; all of them when none is there.
std::unique_ptr<Sink> make_stdout_sink(Log& log, std::vector<std::string> headline = {});
/// One object per line: {"step": 12, name: value, ...}, 9 significant digits, null for NaN and infinities. Appends.
std::unique_ptr<Sink> make_jsonl_sink(const std::filesystem::path& file);
/// A TensorBoard event file of scalars in `folder` (TFRecord framing, Event protobuf), with the run in its name.
std::unique_ptr<Sink> make_tensorboard_sink(const std::filesystem::path& folder, const std::string& run);

struct TrackerOptions {
  std::vector<TrackerKind> track_with;  // no web service
  std::filesystem::path output_dir;     // metrics.jsonl goes here
  std::filesystem::path tensorboard_dir;
  std::string run{};                    // names the run over all its restarts
  std::vector<std::string> headline{};  // what people follow on standard output; the files hold everything
  int64_t logging_steps = 1;            // standard output shows every so many steps; the files hold them all
  int64_t last_step = 0;                // is always shown
};

class Tracker {
 public:
  Tracker(const TrackerOptions& options, Log& log);
  void write(int64_t step, const MetricValues& values);

 private:
  int64_t logging_steps_, last_step_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::unique_ptr<Sink> stdout_;
};

}  // namespace roll
