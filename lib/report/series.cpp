#include "report/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace roll {

namespace {

/// Returns the running sum of these metrics over the steps with any of these metrics.
Series summed(const std::map<std::string, Series>& metrics, const std::vector<std::string>& names, double unit) {
  std::map<int64_t, double> by_step;
  for (const std::string& name : names)
    if (const auto found = metrics.find(name); found != metrics.end())
      for (size_t i = 0; i < found->second.steps.size(); ++i)
        if (std::isfinite(found->second.values[i])) by_step[found->second.steps[i]] += found->second.values[i] / unit;
  Series sums;
  double sum = 0;
  for (const auto& [step, value] : by_step) {
    sums.steps.push_back(step);
    sums.values.push_back(sum += value);
  }
  return sums;
}

StepSpan make_bucket(const Series& series, size_t begin, size_t end) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  StepSpan bucket{series.steps[begin], series.steps[end - 1], kNaN, kNaN, kNaN};
  double sum = 0;
  int64_t count = 0;
  for (size_t i = begin; i < end; ++i) {
    const double value = series.values[i];
    if (!std::isfinite(value)) continue;
    sum += value;
    bucket.lowest = count == 0 ? value : std::min(bucket.lowest, value);
    bucket.highest = count == 0 ? value : std::max(bucket.highest, value);
    ++count;
  }
  if (count > 0) bucket.mean = sum / static_cast<double>(count);
  return bucket;
}

/// Six significant digits; more would double the page without a visible effect.
Json short_float(double value) {
  return std::isfinite(value) ? Json(std::stod(fmt::format("{:.6g}", value))) : Json();
}

Json steps_json(const std::vector<StepSpan>& buckets, int64_t StepSpan::*step) {
  Json steps = Json::array();
  bool is_consecutive = true;
  for (size_t i = 0; i < buckets.size(); ++i) {
    steps.push_back(buckets[i].*step);
    is_consecutive = is_consecutive && buckets[i].*step == buckets[0].*step + static_cast<int64_t>(i);
  }
  return is_consecutive && !buckets.empty() ? Json(buckets[0].*step) : steps;
}

Json values_json(const std::vector<StepSpan>& buckets, double StepSpan::*value) {
  Json values = Json::array();
  for (const StepSpan& bucket : buckets) values.push_back(short_float(bucket.*value));
  return values;
}

}  // namespace

std::vector<StepSpan> split_into_buckets(const Series& series, size_t max_buckets) {
  const size_t count = series.steps.size(), size = (count + max_buckets - 1) / max_buckets;
  std::vector<StepSpan> buckets;
  for (size_t begin = 0; begin < count; begin += size)
    buckets.push_back(make_bucket(series, begin, std::min(begin + size, count)));
  return buckets;
}

std::map<std::string, Series> metric_axes(const std::map<std::string, Series>& metrics) {
  constexpr double kHour_s = 3600;
  std::map<std::string, Series> axes;
  if (metrics.contains("system/num_tokens")) axes["tokens"] = summed(metrics, {"system/num_tokens"}, 1);
  if (metrics.contains("time/step_total"))
    axes["hours"] = summed(metrics, {"time/step_total", "time/validate", "time/checkpoint"}, kHour_s);
  return axes;
}

Json drawn_series(const Series& series, size_t max_buckets) {
  const std::vector<StepSpan> buckets = split_into_buckets(series, max_buckets);
  Json drawn{{"s", steps_json(buckets, &StepSpan::first_step)}, {"v", values_json(buckets, &StepSpan::mean)}};
  if (buckets.size() < series.steps.size()) {
    drawn["e"] = steps_json(buckets, &StepSpan::last_step);
    drawn["lo"] = values_json(buckets, &StepSpan::lowest);
    drawn["hi"] = values_json(buckets, &StepSpan::highest);
  }
  return drawn;
}

}  // namespace roll
