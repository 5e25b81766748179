#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "base/html.h"
#include "checkpoint/manifest.h"
#include "checkpoint/store.h"
#include "report/histograms.h"
#include "report/page_text.h"
#include "report/run_record.h"
#include "report/shown_responses.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

// Points per curve: about the width of a chart in pixels.
constexpr size_t kMaxPoints = 300;
constexpr size_t kMaxPointsOfSeveralRuns = 150;  // if several runs share a page
constexpr size_t kMaxHistograms = 80;            // histograms side by side

/// Returns the shortest path suffixes that distinguish the runs.
std::vector<std::string> short_names(const std::vector<fs::path>& runs) {
  for (size_t num_parts = 1;; ++num_parts) {
    std::vector<std::string> names;
    bool are_whole_paths = true;
    for (const fs::path& run : runs) {
      const fs::path whole = fs::absolute(run / "").lexically_normal().parent_path();
      fs::path rest = whole, name;
      for (size_t i = 0; i < num_parts && rest.has_relative_path(); ++i, rest = rest.parent_path())
        name = name.empty() ? rest.filename() : rest.filename() / name;
      names.push_back(name.string());
      are_whole_paths = are_whole_paths && !rest.has_relative_path();
    }
    std::vector<std::string> sorted = names;
    std::ranges::sort(sorted);
    if (are_whole_paths || std::ranges::adjacent_find(sorted) == sorted.end()) return names;
  }
}

/// Returns exp_name of each run if they differ, else short_names().
std::vector<std::string> run_names(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  std::vector<fs::path> folders;
  for (const RunRecord& run : runs) {
    const Setting* const name = find_setting(run.settings, "exp_name");
    names.push_back(name ? name->value : "");
    folders.push_back(run.folder);
  }
  const std::set<std::string> distinct(names.begin(), names.end());
  const bool are_distinct = runs.size() > 1 && distinct.size() == names.size() && !distinct.contains("");
  return are_distinct ? names : short_names(folders);
}

Json settings_json(const std::vector<Setting>& settings) {
  Json rows = Json::array();
  for (const Setting& setting : settings) {
    Json row = Json::array({setting.key, setting.value});
    if (setting.is_changed()) row.push_back(setting.default_value ? Json(*setting.default_value) : Json());
    rows.push_back(std::move(row));
  }
  return rows;
}

Json warnings_json(const std::vector<LoggedWarning>& warnings) {
  Json rows = Json::array();
  for (const LoggedWarning& warning : warnings)
    rows.push_back({{"text", warning.text}, {"last", warning.last}, {"count", warning.count}});
  return rows;
}

/// Returns the steps with complete checkpoints.
std::vector<int64_t> checkpoint_steps(const fs::path& run) {
  const CheckpointStore store(run / "checkpoints");
  if (!is_folder(store.folder())) return {};
  std::vector<int64_t> steps = store.steps();
  std::erase_if(steps, [&](int64_t step) { return !is_there(store.path(step) / kManifestFile); });
  return steps;
}

Json run_json(RunRecord& run, const std::string& name, const ReportOptions& options) {
  Json metrics = Json::object(), axes = Json::object();
  const size_t points = options.runs.size() > 1 ? kMaxPointsOfSeveralRuns : kMaxPoints;
  for (const auto& [metric, series] : run.metrics) metrics[metric] = drawn_series(series, points);
  for (const auto& [axis, series] : metric_axes(run.metrics)) axes[axis] = drawn_series(series, points);
  const Json histograms = drawn_histograms(run, kMaxHistograms);
  const Json rollouts = shown_responses(run, options.steps), validation = shown_validation(run);
  return {{"name", name},
          {"folder", fs::absolute(run.folder).lexically_normal().string()},
          {"is_sft", run.is_sft},
          {"is_at_work", run.is_at_work},
          {"num_steps", run.num_steps},
          {"last_step", run.last_step},
          {"wanted_steps", run.wanted_steps},
          {"is_evaluation", run.is_evaluation},
          {"metrics", std::move(metrics)},
          {"axes", std::move(axes)},
          {"histograms", histograms},
          {"checkpoints", checkpoint_steps(run.folder)},
          {"warnings", warnings_json(run.warnings)},
          {"settings", settings_json(run.settings)},
          {"rollouts", rollouts},
          {"validation", validation},
          {"notes", run.notes}};
}

Json differences_json(const std::vector<Difference>& changed_keys) {
  Json rows = Json::array();
  for (const Difference& difference : changed_keys) {
    Json row = Json::array({difference.key});
    for (const auto& value : difference.values) row.push_back(value ? Json(*value) : Json());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Json report_data(const ReportOptions& options) {
  std::vector<RunRecord> records;
  for (const fs::path& folder : options.runs) records.push_back(read_run(folder));
  const std::vector<std::string> names = run_names(records);
  Json runs = Json::array();
  std::vector<std::vector<Setting>> settings;
  for (size_t i = 0; i < records.size(); ++i) {
    runs.push_back(run_json(records[i], names[i], options));
    settings.push_back(std::move(records[i].settings));
  }
  return {{"made", local_time_text("%Y-%m-%d %H:%M:%S")},
          {"is_live", options.is_live},
          {"runs", std::move(runs)},
          {"differences", differences_json(differences(settings))}};
}

std::string report_page(const ReportOptions& options) {
  const Json data = report_data(options);
  std::string names;
  for (const Json& run : data["runs"]) names += (names.empty() ? "" : ", ") + run["name"].get<std::string>();
  // The security policy blocks all outside content, even if a response smuggles HTML into the page.
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; connect-src 'self'\">\n"
      "<title>roll report: {}</title>\n<style>{}</style>\n</head>\n<body>\n<main id=\"page\"></main>\n"
      "<noscript>This page needs JavaScript, which is switched off in this browser.</noscript>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n\"use strict\";\n{}</script>\n"
      "</body>\n</html>\n",
      escaped_html(names), page_style(), json_in_html(to_line(data)), page_script());
}

}  // namespace roll
