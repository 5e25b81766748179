// The metrics of a run's steps so far, as what is shown and warned of reads them.
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

class MetricHistory {
 public:
  /// Steps come in ascending order. Values that are not finite are left out.
  void add(int64_t step, const MetricValues& values);

  /// The points of a metric, ascending; none where there is no such metric.
  MetricPoints of(std::string_view name) const;
  /// Its newest `count` points, or fewer.
  MetricPoints last(std::string_view name, size_t count) const;
  /// The newest step; -1 before the first.
  int64_t step() const { return step_; }

 private:
  int64_t step_ = -1;
  std::map<std::string, std::vector<MetricPoint>, std::less<>> points_;
};

double mean_of(MetricPoints points);

/// Reads what make_jsonl_sink() wrote, step by step; nothing where there is no file. UserError: file:line.
void read_metrics(const std::filesystem::path& file,
                  const std::function<void(int64_t step, const MetricValues& values)>& take);

}  // namespace roll
