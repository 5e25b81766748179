// Reads a run folder, which may be incomplete: the run may be at work, may have been killed in the middle of a line, or
// may be one of `roll sft`.
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

struct RunRecord {
  std::filesystem::path folder;
  bool is_at_work = false;   // a process has the folder
  bool is_sft = false;       // of `roll sft`, `dpo` or `distill`, which sample nothing
  int64_t num_steps = 0;     // that metrics.jsonl has
  int64_t last_step = 0;     // of them
  int64_t wanted_steps = 0;  // max_steps; 0: unknown
  bool is_evaluation = false;
  std::map<std::string, Series> metrics{};
  std::vector<LoggedWarning> warnings{};
  std::vector<Setting> settings{};
  std::vector<std::string> notes{};  // what is missing or damaged, in words
};

/// `folder`; where it leads into a checkpoint, the run that this is of; where it is no run, the one that it holds up to
/// two levels below. UserError: several, or a checkpoint without its run.
std::filesystem::path run_at(const std::filesystem::path& folder);

/// UserError: no such folder, a file instead, a folder without a run.
RunRecord read_run(const std::filesystem::path& folder);

/// The values of metrics.jsonl by name. A step that is there twice counts as its last line says; what is no line of
/// metrics is left out and named in `notes`.
std::map<std::string, Series> metrics_in(std::string_view lines, std::vector<std::string>& notes);

/// The folder with the run's rollouts: its own, or the one that its configuration names.
std::filesystem::path rollouts_of(const RunRecord& run);

}  // namespace roll
