#include "track/history.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace roll {

void MetricHistory::add(int64_t step, const MetricValues& values) {
  ROLL_CHECK(step > step_, "steps of a history ascend");
  step_ = step;
  for (const auto& [name, value] : values)
    if (std::isfinite(value)) points_[name].push_back({step, value});
}

MetricPoints MetricHistory::points(std::string_view name) const {
  const auto found = points_.find(name);
  return found == points_.end() ? MetricPoints() : MetricPoints(found->second);
}

MetricPoints MetricHistory::last_points(std::string_view name, size_t count) const {
  const MetricPoints all = points(name);
  return all.last(std::min(count, all.size()));
}

std::vector<std::string> MetricHistory::names(std::string_view prefix, std::string_view ending) const {
  std::vector<std::string> found;
  for (const auto& [name, points] : points_)
    if (name.starts_with(prefix) && name.ends_with(ending) && name.size() >= prefix.size() + ending.size())
      found.push_back(name);
  return found;
}

double mean_value(MetricPoints points) {
  const double sum =
      std::accumulate(points.begin(), points.end(), 0.0, [](double s, const MetricPoint& p) { return s + p.value; });
  return sum / static_cast<double>(points.size());
}

void read_metrics(const std::filesystem::path& file,
                  const std::function<void(int64_t step, const MetricValues& values)>& take) {
  if (!is_there(file)) return;
  std::ifstream in = open_to_read(file);
  int64_t before = -1;
  for_each_json_line(in, file.string(), [&](int64_t line, const Json& json) {
    const auto step = json.is_object() ? json.find("step") : json.end();
    if (!json.is_object() || step == json.end() || !step->is_number_integer() || step->get<int64_t>() <= before)
      throw user_error(
          "{}:{}: is not a line of metrics, or its step is not above the one before; move the file away to continue "
          "without its history",
          file.string(), line);
    before = step->get<int64_t>();
    MetricValues values;
    for (const auto& [name, value] : json.items())
      if (name != "step" && value.is_number()) values.emplace_back(name, value.get<double>());
    take(before, values);
  });
}

}  // namespace roll
