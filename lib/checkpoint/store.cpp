#include "checkpoint/store.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSaving = ".saving_";
constexpr const char* kRemoving = ".removing_";
constexpr const char* kPrefix = "step_";
constexpr const char *kBest = "best", *kLatest = "latest";

std::string step_name(int64_t step) {
  return fmt::format("{}{:06}", kPrefix, step);
}

/// Returns the step in "step_000010"; nullopt for names that a run does not give.
std::optional<int64_t> parse_step_name(const std::string& name) {
  if (!name.starts_with(kPrefix)) return {};
  int64_t step = 0;
  const char* begin = name.data() + std::char_traits<char>::length(kPrefix);
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), step);
  if (error != std::errc() || name != step_name(step)) return {};
  return step;
}

std::string first_line_and_count(const std::vector<std::string>& lines) {
  return lines.size() == 1 ? lines.front() : fmt::format("{} (and {} more)", lines.front(), lines.size() - 1);
}

}  // namespace

fs::path CheckpointStore::path(int64_t step) const {
  return folder_ / step_name(step);
}

fs::path CheckpointStore::saving_path(int64_t step) const {
  return folder_ / (kSaving + step_name(step));
}

void CheckpointStore::check_links() const {
  for (const char* name : {kLatest, kBest}) refuse_other_than_link(folder_ / name);
  make_folder(folder_);
  const fs::path trial = folder_ / ".link";
  std::error_code ignored, ec;
  fs::remove(trial, ignored);
  fs::create_symlink(step_name(0), trial, ec);
  fs::remove(trial, ignored);
  if (ec)
    throw user_error(
        "{}: cannot create symbolic links in this folder ({}); set output_dir to a file system that supports them",
        folder_.string(), ec.message());
}

void CheckpointStore::begin(int64_t step) const {
  abandon(step);
  make_folder(saving_path(step));
}

void CheckpointStore::commit(int64_t step, const Json& about, const FileSums& files) const {
  write_manifest(saving_path(step), {about, files, step});
  remove(path(step));
  rename_lasting(saving_path(step), path(step));
  mark_latest(step);
}

void CheckpointStore::mark_latest(int64_t step) const {
  link_atomic(step_name(step), folder_ / kLatest);
}

void CheckpointStore::abandon(int64_t step) const noexcept {
  std::error_code ignored;
  fs::remove_all(saving_path(step), ignored);
}

std::vector<int64_t> CheckpointStore::steps() const {
  std::vector<int64_t> steps;
  for (const auto& entry : list_folder(folder_))
    if (const auto step = parse_step_name(entry.filename().string())) steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::optional<int64_t> CheckpointStore::newest_sound(const std::function<void(const std::string&)>& report) const {
  std::vector<int64_t> all_steps = steps();
  for (auto step = all_steps.rbegin(); step != all_steps.rend(); ++step) {
    try {
      const auto [damage, beside] = find_checkpoint_faults(path(*step));
      if (!beside.empty())
        report(fmt::format("checkpoint {}: {}: nothing reads it", path(*step).string(), first_line_and_count(beside)));
      if (damage.empty()) return *step;
      report(
          fmt::format("checkpoint {} is damaged and skipped: {}", path(*step).string(), first_line_and_count(damage)));
    } catch (const UserError& error) {
      report(fmt::format("checkpoint {} is skipped: {}", path(*step).string(), error.what()));
    }
  }
  return {};
}

void CheckpointStore::rotate(const std::string& run, const Keeping& keeping) const {
  std::vector<RunCheckpoint> checkpoints = run_checkpoints(run, keeping.measured);
  std::set<int64_t> kept;
  const auto keep_first = [&](int64_t count) {
    for (int64_t i = 0; i < std::min(count, std::ssize(checkpoints)); ++i) kept.insert(checkpoints[i].step);
  };
  const std::vector<RunCheckpoint> all_checkpoints = checkpoints;
  std::reverse(checkpoints.begin(), checkpoints.end());
  keep_first(keeping.newest > 0 ? keeping.newest : std::ssize(checkpoints));
  std::erase_if(checkpoints, [](const RunCheckpoint& checkpoint) { return !checkpoint.metric; });
  std::stable_sort(checkpoints.begin(), checkpoints.end(), [&](const RunCheckpoint& a, const RunCheckpoint& b) {
    return keeping.greater_is_better ? *a.metric > *b.metric : *a.metric < *b.metric;
  });
  keep_first(keeping.best);
  mark_best(checkpoints, kept);
  for (const RunCheckpoint& checkpoint : all_checkpoints)
    if (!kept.contains(checkpoint.step)) remove(path(checkpoint.step));
}

void CheckpointStore::mark_best(const std::vector<RunCheckpoint>& by_metric, const std::set<int64_t>& kept) const {
  const auto best =
      std::ranges::find_if(by_metric, [&](const RunCheckpoint& checkpoint) { return kept.contains(checkpoint.step); });
  std::error_code ignored;
  if (best != by_metric.end())
    link_atomic(step_name(best->step), folder_ / kBest);
  else
    fs::remove(folder_ / kBest, ignored);
}

std::vector<CheckpointStore::RunCheckpoint> CheckpointStore::run_checkpoints(const std::string& run,
                                                                             const std::string& measured) const {
  std::vector<RunCheckpoint> checkpoints;
  for (const int64_t step : steps()) {
    try {
      const Json about = read_manifest(path(step)).about;
      const auto owner = about.find("run"), metric = about.find("metric");
      if (owner == about.end() || *owner != run) continue;
      const bool is_measured =
          metric != about.end() && metric->is_number() && about.value("measured", Json(measured)) == measured;
      checkpoints.push_back({step, is_measured ? std::optional(metric->get<double>()) : std::nullopt});
    } catch (const UserError&) {  // damaged; kept for inspection
    }
  }
  return checkpoints;
}

void CheckpointStore::sweep() const {
  for (const auto& entry : list_folder(folder_)) {
    const std::string name = entry.filename().string();
    std::error_code ignored;
    if (name.starts_with(kSaving) || name.starts_with(kRemoving)) fs::remove_all(entry, ignored);
  }
}

int64_t CheckpointStore::supersede_after(int64_t step) const {
  int64_t count = 0;
  for (const int64_t later_step : steps()) {
    if (later_step <= step) continue;
    const fs::path superseded = path(later_step).string() + ".superseded";
    std::error_code ignored;
    if (fs::read_symlink(folder_ / kBest, ignored) == step_name(later_step)) fs::remove(folder_ / kBest, ignored);
    remove(superseded);
    rename_lasting(path(later_step), superseded);
    ++count;
  }
  return count;
}

void CheckpointStore::remove(const fs::path& checkpoint) const {
  if (!is_there(checkpoint)) return;
  std::error_code ec;
  const fs::path removing = folder_ / (kRemoving + checkpoint.filename().string());
  fs::remove_all(removing, ec);
  rename_lasting(checkpoint, removing);
  fs::remove_all(removing, ec);
  if (ec) throw system_error("{}: cannot be removed ({})", removing.string(), ec.message());
}

int64_t free_bytes(const fs::path& folder) {
  fs::path existing = fs::absolute(folder);
  while (!is_there(existing) && existing.has_relative_path()) existing = existing.parent_path();
  std::error_code ec;
  const fs::space_info space = fs::space(existing, ec);
  if (ec) throw system_error("{}: cannot read the free disk space ({})", existing.string(), ec.message());
  return static_cast<int64_t>(space.available);
}

}  // namespace roll
