// History of a run's metrics, read by the screen, the step line and the warning rules.
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

struct MetricPoint {
  int64_t step = 0;
  double value = 0;
};
using MetricPoints = std::span<const MetricPoint>;

/// All metrics of a run, as points by step.
class MetricHistory {
 public:
  /// Adds a step; steps must ascend. Non-finite values are skipped.
  void add(int64_t step, const MetricValues& values);

  /// Returns the points of a metric, ascending; empty if it is unknown.
  MetricPoints points(std::string_view name) const;
  /// Returns the newest `count` points of a metric, or all if there are fewer.
  MetricPoints last_points(std::string_view name, size_t count) const;
  /// Returns the newest step; -1 if empty.
  int64_t step() const { return step_; }

 private:
  int64_t step_ = -1;
  std::map<std::string, std::vector<MetricPoint>, std::less<>> points_;
};

/// Returns the mean value; NaN without points.
double mean_value(MetricPoints points);

/// Reads a file of make_jsonl_sink() step by step; does nothing if it is missing. UserError "file:line": a line is
/// malformed, or its step not greater than the last.
void read_metrics(const std::filesystem::path& file,
                  const std::function<void(int64_t step, const MetricValues& values)>& take);

}  // namespace roll
