// Holds all metrics of a run by step, for the screen, the step line and the warning rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "track/metrics.h"

namespace roll {

/// Value of a metric at one step.
struct MetricPoint {
  int64_t step = 0;
  double value = 0;
};
using MetricPoints = std::span<const MetricPoint>;

/// All metrics of a run, as points by step.
class MetricHistory {
 public:
  /// Adds a step's metrics; non-finite values are skipped. Throws Bug if the step is not above the last one.
  void add(int64_t step, const MetricValues& values);

  /// Returns the points of a metric, ascending by step; empty if it has none. The span is valid until the next add().
  MetricPoints points(std::string_view name) const;
  /// Returns the newest `count` points of a metric, ascending by step, or all if there are fewer. The span is valid
  /// until the next add().
  MetricPoints last_points(std::string_view name, size_t count) const;
  /// Returns the names of all metrics that begin with `prefix` and end with `ending`, sorted.
  std::vector<std::string> names(std::string_view prefix, std::string_view ending) const;
  /// Returns the newest step; -1 if no step was added.
  int64_t step() const { return step_; }

 private:
  int64_t step_ = -1;
  std::map<std::string, std::vector<MetricPoint>, std::less<>> points_;
};

/// Returns the mean value of the points; NaN if there are none.
double mean_value(MetricPoints points);

/// Calls `take` for each line of a metrics.jsonl (written by make_jsonl_sink()), in order; null values are left out.
/// Does nothing if the file is missing. Throws UserError with file and line if a line is malformed or its step is not
/// above the one before.
void read_metrics(const std::filesystem::path& file,
                  const std::function<void(int64_t step, const MetricValues& values)>& take);

}  // namespace roll
