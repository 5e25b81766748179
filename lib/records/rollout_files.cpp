#include "records/rollout_files.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Parses the file name's suffix after the step number; nullopt if it does not name a part.
std::optional<Share> parse_share(std::string_view suffix) {
  Share share;
  if (!suffix.starts_with('-') || !suffix.ends_with(".jsonl")) return std::nullopt;
  const char* const end = suffix.data() + suffix.size();
  const auto [after_index, error] = std::from_chars(suffix.data() + 1, end, share.index);
  if (error != std::errc() || !std::string_view(after_index, end).starts_with("-of-")) return std::nullopt;
  std::from_chars(after_index + 4, end, share.count);
  --share.index;
  return part_suffix(share) == suffix ? std::optional(share) : std::nullopt;
}

struct File {
  fs::path path;
  Share share;
};

/// Returns the files of a step, sorted by part.
std::vector<File> find_files(const fs::path& folder, const std::string& prefix, int64_t number) {
  std::vector<File> files;
  if (!is_there(folder)) return files;
  const std::string begin = numbered("", prefix, number, "").string();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin)) continue;
    const std::string suffix = name.substr(begin.size());
    if (suffix == ".jsonl") files.push_back({entry.path(), {}});
    if (const auto share = parse_share(suffix)) files.push_back({entry.path(), *share});
  }
  std::ranges::sort(files, {}, [](const File& file) { return std::pair(file.share.count, file.share.index); });
  return files;
}

/// UserError: a part is missing, or parts of different sets are mixed.
void check_parts(const std::vector<File>& files) {
  for (size_t i = 0; i < files.size(); ++i) {
    const Share expected{.index = static_cast<int64_t>(i), .count = std::ssize(files)};
    const Share found = files[i].share;
    if (found.index == expected.index && found.count == expected.count) continue;
    throw user_error("{}: is part {} of {}, but this step has {} files; keep all parts of one run, and no other files",
                     files[i].path.string(), found.index + 1, found.count, files.size());
  }
}

void check_groups(const std::vector<RolloutRecord>& records, int64_t group_size, const std::string& origin) {
  for (size_t i = 0; i < records.size(); ++i) {
    const auto n = static_cast<int64_t>(i);
    if (records[i].group_index != n / group_size || records[i].sample_index != n % group_size)
      throw user_error(
          "{}: group_index {}, sample_index {} found where group {}, sample {} is expected: "
          "num_return_sequences_in_group = {} needs groups 0, 1, 2, ... of {} responses each",
          origin, records[i].group_index, records[i].sample_index, n / group_size, n % group_size, group_size,
          group_size);
  }
  if (records.empty() || static_cast<int64_t>(records.size()) % group_size)
    throw user_error("{}: {} responses: must be a positive multiple of num_return_sequences_in_group = {}", origin,
                     records.size(), group_size);
}

/// UserError: a group does not have exactly one baseline, after its samples.
void check_baselines(const std::vector<RolloutRecord>& baselines, int64_t num_groups, int64_t group_size,
                     const std::string& origin) {
  for (int64_t group = 0; group < std::max(num_groups, std::ssize(baselines)); ++group) {
    const RolloutRecord* const found = group < std::ssize(baselines) ? &baselines[group] : nullptr;
    if (found && group < num_groups && found->group_index == group && found->sample_index == group_size) continue;
    const int64_t wrong = found ? std::min(group, found->group_index) : group;
    const auto count = std::ranges::count_if(baselines, [&](const RolloutRecord& record) {
      return record.group_index == wrong && record.sample_index == group_size;
    });
    throw user_error(
        "{}: group {}: greedy responses: {} (lines with is_baseline: true and sample_index {}), but adv_estimator "
        "needs exactly one in each of groups 0 to {}; replay rollouts of a run with the same adv_estimator, or choose "
        "another",
        origin, wrong, count, group_size, num_groups - 1);
  }
}

}  // namespace

std::string part_suffix(Share share) {
  return share.count == 1 ? ".jsonl" : fmt::format("-{:05}-of-{:05}.jsonl", share.index + 1, share.count);
}

std::optional<Share> sampler_share(RoleMesh& sampler) {
  if (!sampler.is_here() || !sampler.mesh().is_leader()) return std::nullopt;
  return Share{.index = sampler.mesh().place().dp, .count = sampler.dp_size()};
}

std::vector<fs::path> rollout_files(const fs::path& folder, const std::string& prefix, int64_t number) {
  std::vector<fs::path> paths;
  for (const File& file : find_files(folder, prefix, number)) paths.push_back(file.path);
  return paths;
}

std::vector<int64_t> rollout_numbers(const fs::path& folder, const std::string& prefix) {
  std::set<int64_t> numbers;
  for (const fs::path& path : list_folder(folder)) {
    const std::string name = path.filename().string();
    int64_t number = 0;
    if (!name.starts_with(prefix) || path.extension() != ".jsonl") continue;
    const char* const begin = name.data() + prefix.size();
    if (std::from_chars(begin, name.data() + name.size(), number).ptr != begin) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

void take_back_rollouts(const fs::path& folder, const std::string& prefix, int64_t step) {
  for (const int64_t number : rollout_numbers(folder, prefix))
    if (number > step)
      for (const File& file : find_files(folder, prefix, number)) fs::remove(file.path);
}

void write_rollouts(const fs::path& folder, const std::string& prefix, int64_t number,
                    const std::vector<RolloutRecord>& records, Share share) {
  make_folder(folder);
  if (share.index == 0)
    for (const File& file : find_files(folder, prefix, number))
      if (file.share.count != share.count) fs::remove(file.path);
  write_file_atomic(numbered(folder, prefix, number, part_suffix(share)), to_lines(records));
}

std::vector<RolloutRecord> read_replay(const fs::path& folder, int64_t step, int64_t group_size, bool with_baselines,
                                       Share share) {
  std::vector<File> files = find_files(folder, "step_", step);
  if (files.empty()) files = find_files(folder / "rollouts", "step_", step);
  const std::string origin =
      files.empty() ? numbered(folder, "step_", step, ".jsonl").string() : files[0].path.string();
  if (files.empty())
    throw user_error(
        "rollout_replay = {}: step {} needs {}, which is missing; set max_steps to the number of recorded steps",
        folder.string(), step, origin);
  check_parts(files);
  std::vector<RolloutRecord> records;
  for (const File& file : files)
    for (RolloutRecord& record : records_from_lines(read_file(file.path), file.path.string())) {
      if (record.step != step)
        throw user_error("{}: step = {}: must be {}, as the file's name says", file.path.string(), record.step, step);
      if (record.group_index % share.count != share.index)
        record = {.step = step,
                  .group_index = record.group_index,
                  .sample_index = record.sample_index,
                  .is_baseline = record.is_baseline};
      records.push_back(std::move(record));
    }
  sort_records(records);
  const auto first_baseline = std::stable_partition(records.begin(), records.end(),
                                                    [](const RolloutRecord& record) { return !record.is_baseline; });
  std::vector<RolloutRecord> baselines(first_baseline, records.end());
  records.erase(first_baseline, records.end());
  check_groups(records, group_size, origin);
  if (with_baselines) {
    check_baselines(baselines, std::ssize(records) / group_size, group_size, origin);
    std::ranges::move(baselines, std::back_inserter(records));
    sort_records(records);
  }
  std::erase_if(records, [&](const RolloutRecord& record) { return record.group_index % share.count != share.index; });
  return records;
}

}  // namespace roll
