#include "report/histograms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "track/histogram.h"

namespace roll {

namespace {

constexpr const char* kHistogramNames[] = {"rewards", "advantages"};

using Bins = std::map<double, std::pair<double, int64_t>>;  // by lower edge: upper edge, count

void add_bins(const Json& from, Bins& bins) {
  for (const Json& bin : from) {
    auto& [high, count] = bins[bin.at(0).get<double>()];
    high = bin.at(1).get<double>();
    count += bin.at(2).get<int64_t>();
  }
}

/// Returns the parsed line; nullopt if it holds no histograms.
std::optional<Json> histogram_line(std::string_view text) {
  try {
    Json line = parse_json(text, kHistogramFile);
    line.at("step").get<int64_t>();
    for (const char* name : kHistogramNames) {
      Bins bins;
      if (line.contains(name)) add_bins(line.at(name), bins);
    }
    return line;
  } catch (const std::exception&) {  // from parse_json(), or a missing or mistyped member
    return std::nullopt;
  }
}

std::map<int64_t, Json> lines_by_step(std::string_view text, std::vector<std::string>& notes) {
  std::map<int64_t, Json> lines;
  int64_t num_damaged = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (auto parsed = histogram_line(line)) {
      const auto step = parsed->at("step").get<int64_t>();
      lines[step] = std::move(*parsed);
    } else {
      num_damaged += end != text.npos;  // the last line may still be being written
    }
  }
  if (num_damaged > 0)
    notes.push_back(fmt::format("{} lines of {} are damaged and left out.", num_damaged, kHistogramFile));
  return lines;
}

Json bins_json(const Bins& bins) {
  Json json = Json::array();
  for (const auto& [low, upper_and_count] : bins)
    json.push_back(Json::array({low, upper_and_count.first, upper_and_count.second}));
  return json;
}

Json histogram_parts(const std::map<int64_t, Json>& lines, const char* name, size_t max_parts) {
  const auto has_name = [&](const auto& line) { return line.second.contains(name); };
  const auto count = static_cast<size_t>(std::ranges::count_if(lines, has_name));
  const size_t size = (count + max_parts - 1) / max_parts;  // steps per part
  Json json{{"s", Json::array()}, {"e", Json::array()}, {"b", Json::array()}};
  Bins bins;
  size_t steps_in_part = 0, steps_done = 0;
  for (const auto& [step, line] : lines) {
    if (!line.contains(name)) continue;
    if (steps_in_part == 0) json["s"].push_back(step);
    add_bins(line.at(name), bins);
    ++steps_in_part;
    ++steps_done;
    if (steps_in_part < size && steps_done < count) continue;
    json["e"].push_back(step);
    json["b"].push_back(bins_json(bins));
    bins.clear();
    steps_in_part = 0;
  }
  return json;
}

}  // namespace

Json drawn_histograms(RunRecord& run, size_t max_parts) {
  const auto file = run.folder / kHistogramFile;
  Json json = Json::object();
  if (!is_there(file)) return json;
  try {
    const std::map<int64_t, Json> lines = lines_by_step(read_file(file), run.notes);
    for (const char* name : kHistogramNames)
      if (Json parts = histogram_parts(lines, name, max_parts); !parts["s"].empty()) json[name] = std::move(parts);
  } catch (const std::exception& error) {
    run.notes.emplace_back(error.what());
  }
  return json;
}

}  // namespace roll
