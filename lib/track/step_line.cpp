#include "track/step_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace roll {

namespace {

constexpr size_t kPaceSteps = 20;

double sum_from(MetricPoints points, int64_t first_step) {
  double sum = 0;
  for (const MetricPoint& point : points)
    if (point.step >= first_step) sum += point.value;
  return sum;
}

}  // namespace

double seconds_per_step(const MetricHistory& history) {
  const MetricPoints steps = history.last_points("time/step_total", kPaceSteps);
  if (steps.empty()) return std::nan("");
  double seconds = 0;
  for (const char* part : {"time/step_total", "time/validate", "time/checkpoint"})
    seconds += sum_from(history.points(part), steps.front().step);
  return seconds / static_cast<double>(steps.size());
}

std::string short_number(double value) {
  if (std::abs(value) < 1e7 && value == std::trunc(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string goal_text(const Headline& headline, const MetricHistory& history) {
  const MetricPoints points = history.points(headline.goal.metric);
  if (points.empty()) return "";
  const auto is_worse = [&](const MetricPoint& a, const MetricPoint& b) {
    return headline.greater_is_better ? a.value < b.value : a.value > b.value;
  };
  const MetricPoint best = *std::max_element(points.begin(), points.end(), is_worse);
  return fmt::format("{} {} (best {} @ {})", headline.goal.word, short_number(points.back().value),
                     short_number(best.value), best.step);
}

std::string step_line(const Headline& headline, const MetricHistory& history, int64_t last_step) {
  const int64_t step = history.step();
  std::string line = fmt::format("step {}/{}", step, last_step);
  const auto add = [&](const std::string& text) { line += " | " + text; };
  const double pace = seconds_per_step(history);
  if (std::isfinite(pace)) add(duration_text(pace) + "/step");
  if (std::isfinite(pace) && step < last_step)
    add(duration_text(pace * static_cast<double>(last_step - step)) + " left");
  const auto is_of_step = [&](MetricPoints points) { return !points.empty() && points.back().step == step; };
  if (is_of_step(history.points(headline.goal.metric))) add(goal_text(headline, history));
  for (const auto& [word, metric] : headline.others)
    if (const MetricPoints points = history.points(metric); is_of_step(points))
      add(fmt::format("{} {}", word, short_number(points.back().value)));
  return line;
}

}  // namespace roll
