// Reads a run folder for `roll report`. The folder may be incomplete: its run may be active, killed in the middle of a
// line, or one of `roll sft`, which has no rollouts.
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
  bool is_at_work = false;                  // a process is writing the run: it holds the folder's lock
  bool is_sft = false;                      // run of `roll sft`, `roll dpo` or `roll distill`; no rollouts
  int64_t num_steps = 0;                    // number of steps in metrics.jsonl, without step 0
  int64_t last_step = 0;                    // largest step in metrics.jsonl; 0: no steps
  int64_t wanted_steps = 0;                 // number of steps of the whole run (key max_steps); 0: unknown
  bool is_evaluation = false;               // run of `roll evaluate`
  std::map<std::string, Series> metrics{};  // by metric name
  std::vector<LoggedWarning> warnings{};    // from log.txt
  std::vector<Setting> settings{};          // from config.resolved.yaml
  std::vector<std::string> notes{};         // missing or damaged parts, as sentences
};

/// Returns the folder of the run that `folder` belongs to: `folder` itself, the run around a checkpoint, or the only
/// run in it, up to two levels of folders below. Returns `folder` if it finds no run. Throws UserError if it finds
/// several runs, or if `folder` is a checkpoint outside a run.
std::filesystem::path find_run(const std::filesystem::path& folder);

/// Reads the run in exactly this folder. Throws UserError if it is missing, a file, or holds no run.
RunRecord read_run(const std::filesystem::path& folder);

/// Parses the text of metrics.jsonl into series by metric name. If a step has several lines, the last one counts.
/// Malformed lines are skipped; a sentence about each is added to `notes`.
std::map<std::string, Series> metrics_in(std::string_view lines, std::vector<std::string>& notes);

/// Returns the folder with the run's rollouts: the one that rollout_dump_dir or rollout_replay names, else
/// run.folder/rollouts.
std::filesystem::path rollouts_folder(const RunRecord& run);

}  // namespace roll
