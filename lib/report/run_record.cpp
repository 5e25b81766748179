#include "report/run_record.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/manifest.h"
#include "process/file_lock.h"
#include "run/run_folder.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Returns the parsed line of metrics.jsonl; nullopt if it is malformed.
std::optional<Json> metrics_line(std::string_view text) {
  try {
    Json line = parse_json(text, "metrics.jsonl");
    const auto step = line.is_object() ? line.find("step") : line.end();
    if (!line.is_object() || step == line.end() || !step->is_number_integer()) return std::nullopt;
    line.erase("utc");  // not a number to plot
    return line;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

bool holds_run(const fs::path& folder) {
  if (is_there(folder / kManifestFile)) return false;  // a checkpoint, which holds a copy of its run's configuration
  return std::ranges::any_of(std::array{"metrics.jsonl", "config.resolved.yaml", "log.txt", "rollouts"},
                             [&](const char* name) { return is_there(folder / name); });
}

/// Adds runs up to `levels` below the folder. Symbolic links such as `latest` are skipped.
void add_runs_below(const fs::path& folder, int levels, std::vector<fs::path>& runs) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_directory(ignored) || entry.is_symlink(ignored)) continue;
    if (holds_run(entry.path()))
      runs.push_back(entry.path());
    else if (levels > 1)
      add_runs_below(entry.path(), levels - 1, runs);
  }
}

fs::path find_run_of_checkpoint(const fs::path& checkpoint) {
  const fs::path run = checkpoint.parent_path().parent_path();
  if (checkpoint.parent_path().filename() == "checkpoints" && holds_run(run)) return run;
  throw user_error("{}: is a checkpoint outside its run's folder; give output_dir of the run's configuration",
                   checkpoint.string());
}

void check_is_run(const fs::path& folder) {
  if (!is_there(folder))
    throw user_error("{}: no such run folder; give output_dir of the run's configuration", folder.string());
  if (!is_folder(folder))
    throw user_error("{}: is a file; give the run's folder, output_dir of its configuration", folder.string());
  if (holds_run(folder)) return;
  const std::string remedy = is_there(folder / "latest") ? fmt::format("try {}", (folder / "latest").string())
                                                         : "give output_dir of its configuration";
  throw user_error("{}: holds no run: no metrics.jsonl, config.resolved.yaml, log.txt or rollouts; {}", folder.string(),
                   remedy);
}

/// Reads one of the run's files; nullopt and a note if it is missing or unreadable.
std::optional<std::string> read_run_file(const fs::path& file, std::vector<std::string>& notes) {
  try {
    if (is_there(file)) return read_file(file);
    notes.push_back(fmt::format("There is no {}.", file.filename().string()));
  } catch (const std::exception& error) {
    notes.push_back(error.what());
  }
  return std::nullopt;
}

void read_run_settings(RunRecord& run) {
  const auto text = read_run_file(run.folder / "config.resolved.yaml", run.notes);
  if (!text) return;
  try {
    run.settings = read_settings(*text, "config.resolved.yaml");
  } catch (const UserError& error) {
    run.notes.emplace_back(error.what());
  }
  if (const Setting* steps = find_setting(run.settings, "max_steps"))
    std::from_chars(steps->value.data(), steps->value.data() + steps->value.size(), run.wanted_steps);
}

/// Returns the path of log.txt, which logging_dir may move.
fs::path log_path(const RunRecord& run) {
  const Setting* const folder = find_setting(run.settings, "logging_dir");
  return (folder && folder->value != "null" ? fs::path(folder->value) : run.folder) / "log.txt";
}

}  // namespace

std::map<std::string, Series> metrics_in(std::string_view lines, std::vector<std::string>& notes) {
  std::map<int64_t, Json> by_step;
  int64_t number = 0;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    const std::string_view text = lines.substr(0, end);
    lines.remove_prefix(std::min(text.size() + 1, lines.size()));
    ++number;
    if (auto line = metrics_line(text)) {
      const auto step = line->at("step").get<int64_t>();
      by_step[step] = std::move(*line);
    } else if (end == lines.npos) {
      notes.emplace_back(
          "The last line of metrics.jsonl is not finished: the run is writing it, or was killed while writing it.");
    } else {
      notes.push_back(fmt::format("Line {} of metrics.jsonl is not a line of metrics and is left out.", number));
    }
  }
  std::map<std::string, Series> metrics;
  for (const auto& [step, line] : by_step)
    for (const auto& [name, value] : line.items()) {
      if (name == "step" || (!value.is_number() && !value.is_null())) continue;
      Series& series = metrics[name];
      series.steps.push_back(step);
      series.values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
    }
  return metrics;
}

fs::path find_run(const fs::path& folder) {
  constexpr int kMaxLevels = 2;
  constexpr size_t kMaxListed = 5;
  if (const auto checkpoint = checkpoint_around(folder)) return find_run_of_checkpoint(*checkpoint);
  if (folder.filename() == "checkpoints" && holds_run(folder.parent_path())) return folder.parent_path();
  if (!is_folder(folder) || holds_run(folder) || is_there(folder / "latest")) return folder;
  std::vector<fs::path> runs;
  add_runs_below(folder, kMaxLevels, runs);
  if (runs.size() <= 1) return runs.empty() ? folder : runs.front();
  std::ranges::sort(runs);
  std::vector<std::string> names;
  for (const fs::path& run : runs)
    if (names.size() < kMaxListed) names.push_back(run.string());
  throw user_error("{}: holds {} runs; give the runs to show: {}{}", folder.string(), runs.size(),
                   fmt::join(names, ", "), runs.size() > kMaxListed ? ", ..." : "");
}

RunRecord read_run(const fs::path& folder) {
  check_is_run(folder);
  RunRecord run{.folder = folder, .is_at_work = FileLock::is_held(folder / kLockFile)};
  read_run_settings(run);
  run.is_evaluation = is_there(folder / kEvaluationFile);
  if (const auto metrics = read_run_file(folder / "metrics.jsonl", run.notes))
    run.metrics = metrics_in(*metrics, run.notes);
  std::set<int64_t> steps;
  for (const auto& [name, series] : run.metrics) steps.insert(series.steps.begin(), series.steps.end());
  steps.erase(0);  // the validation before the first step
  run.num_steps = std::ssize(steps);
  if (!steps.empty()) run.last_step = *steps.rbegin();
  const auto learns_rows = [](const Setting& setting) {
    return setting.key.starts_with("sft_train.") || setting.key.starts_with("student.");
  };
  run.is_sft = std::ranges::any_of(run.settings, learns_rows);
  for (const char* loss : {"sft/loss", "dpo/loss", "distill/loss"}) run.is_sft |= run.metrics.contains(loss);
  if (const auto log = read_run_file(log_path(run), run.notes)) run.warnings = warnings_in(*log);
  return run;
}

fs::path rollouts_folder(const RunRecord& run) {
  const fs::path default_folder = run.folder / "rollouts";
  for (const char* key : {"rollout_dump_dir", "rollout_replay"}) {
    const Setting* const setting = find_setting(run.settings, key);
    if (!setting || setting->value == "null") continue;
    const fs::path folder = setting->value;
    return is_folder(folder / "rollouts") ? folder / "rollouts" : folder;
  }
  return default_folder;
}

}  // namespace roll
