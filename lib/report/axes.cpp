#include "report/axes.h"

#include <cmath>

namespace roll {

namespace {

/// The sum of these metrics up to each step that has the first of them.
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

}  // namespace

std::map<std::string, Series> axes_of(const std::map<std::string, Series>& metrics) {
  constexpr double kHour_s = 3600;
  std::map<std::string, Series> axes;
  if (metrics.contains("system/num_tokens")) axes["tokens"] = summed(metrics, {"system/num_tokens"}, 1);
  if (metrics.contains("time/step_total"))
    axes["hours"] = summed(metrics, {"time/step_total", "time/validate", "time/checkpoint"}, kHour_s);
  return axes;
}

}  // namespace roll
