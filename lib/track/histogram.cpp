#include "track/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace roll {

namespace {

constexpr std::string_view kPrefix = "histogram/";
// Bin k is centred at value_at(k): evenly spaced up to kEven, then exponentially.
constexpr double kWidth = 0.1, kEven = 2;
constexpr double kLastBin = 300;  // at 2.4e6; also counts larger values

double value_at(double bin) {
  const double beyond = std::abs(bin) * kWidth / kEven - 1;
  return beyond <= 0 ? bin * kWidth : std::copysign(kEven * std::exp(beyond), bin);
}

double bin_at(double value) {
  const double size = std::abs(value) / kEven;
  return size <= 1 ? value / kWidth : std::copysign(kEven / kWidth * (1 + std::log(size)), value);
}

double edge_below(int bin) {
  return std::stod(fmt::format("{:.4g}", value_at(bin - 0.5)));
}

/// Splits "histogram/name/12" into name and bin; nullopt for another metric.
std::optional<std::pair<std::string, int>> parse_bin(std::string_view metric) {
  if (!metric.starts_with(kPrefix)) return std::nullopt;
  metric.remove_prefix(kPrefix.size());
  const size_t slash = metric.rfind('/');
  if (slash == metric.npos) return std::nullopt;
  int bin = 0;
  const auto [end, error] = std::from_chars(metric.data() + slash + 1, metric.data() + metric.size(), bin);
  if (error != std::errc() || end != metric.data() + metric.size()) return std::nullopt;
  return std::pair(std::string(metric.substr(0, slash)), bin);
}

}  // namespace

void add_histogram(const std::string& name, const at::Tensor& values, Metrics& metrics) {
  const at::Tensor host = values.detach().to(at::kCPU, at::kDouble).contiguous();
  std::map<int, int64_t> counts;
  for (const double value : std::span(host.const_data_ptr<double>(), static_cast<size_t>(host.numel())))
    if (std::isfinite(value)) ++counts[static_cast<int>(std::clamp(std::round(bin_at(value)), -kLastBin, kLastBin))];
  for (const auto& [bin, count] : counts)
    metrics.add(fmt::format("{}{}/{}@sum", kPrefix, name, bin), static_cast<double>(count));
}

Json take_histograms(MetricValues& metrics) {
  std::map<std::string, std::map<int, int64_t>> counts;
  std::erase_if(metrics, [&](const auto& value) {
    const auto bin = parse_bin(value.first);
    if (bin) counts[bin->first][bin->second] = static_cast<int64_t>(value.second);
    return bin.has_value();
  });
  Json histograms = Json::object();
  for (const auto& [name, bins] : counts)
    for (const auto& [bin, count] : bins)
      histograms[name].push_back(Json::array({edge_below(bin), edge_below(bin + 1), count}));
  return histograms;
}

}  // namespace roll
