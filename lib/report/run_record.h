// Reads a run folder for `roll report`. It may be incomplete: the run may be active, killed in the middle of a line, or
// one of `roll sft`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "report/series.h"
#include "report/settings_table.h"
#include "report/warnings.h"

namespace roll {

/// Everything that the page needs from a run folder, except rollouts.
struct RunRecord {
  std::filesystem::path folder;
  bool is_at_work = false;   // a process holds the folder's lock
  bool is_sft = false;       // run of `roll sft`, `dpo` or `distill`; no rollouts
  int64_t num_steps = 0;     // steps in metrics.jsonl
  int64_t last_step = 0;     // largest step in metrics.jsonl
  int64_t wanted_steps = 0;  // max_steps; 0: unknown
  bool is_evaluation = false;
  std::map<std::string, Series> metrics{};
  std::vector<LoggedWarning> warnings{};
  std::vector<Setting> settings{};
  std::vector<std::string> notes{};  // missing or damaged parts, as sentences
};

/// Finds the run that `folder` belongs to: the folder itself, the run around a checkpoint, or the only run up to two
/// levels below. UserError: it holds several runs, or a checkpoint without its run.
std::filesystem::path find_run(const std::filesystem::path& folder);

/// Reads the run. UserError: `folder` is missing, a file, or holds no run.
RunRecord read_run(const std::filesystem::path& folder);

/// Parses metrics.jsonl into series by metric name. The last line of a step wins; malformed lines are skipped and noted
/// in `notes`.
std::map<std::string, Series> metrics_in(std::string_view lines, std::vector<std::string>& notes);

/// Returns the folder with the run's rollouts: its own, or the one that its configuration names.
std::filesystem::path rollouts_folder(const RunRecord& run);

}  // namespace roll
