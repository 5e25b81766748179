// Writes and reads files with the rollouts (scored responses) of a step or validation. A sampling group is the ranks
// that hold one sampler model together; its first rank, the leader, writes. A single group writes step_NNNNNN.jsonl;
// several groups write one part each, step_NNNNNN-00001-of-00004.jsonl. Readers join the parts. `prefix` is "step_" or
// "val_" in all functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "records/rollout_record.h"

namespace roll {

/// Part `index` (from 0) of the `count` parts of a step.
struct Share {
  int64_t index = 0, count = 1;
};

/// Returns the part that this rank writes and reads; nullopt if the rank is not the leader of a sampling group.
std::optional<Share> sampler_share(RoleMesh& sampler);

/// Returns the ending of a part's file name: "-00002-of-00004.jsonl" for index 1 of 4; ".jsonl" if there is only one
/// part.
std::string part_suffix(Share share);

/// Returns the existing files of step or validation `number`, sorted by part.
std::vector<std::filesystem::path> rollout_files(const std::filesystem::path& folder, const std::string& prefix,
                                                 int64_t number);
/// Returns the numbers of the steps or validations that have files in the folder, ascending; empty if the folder does
/// not exist.
std::vector<int64_t> rollout_numbers(const std::filesystem::path& folder, const std::string& prefix);

/// Removes the files with a number above `step`; a run that resumes after `step` writes them again.
void take_back_rollouts(const std::filesystem::path& folder, const std::string& prefix, int64_t step);

/// Creates the folder and writes `records` as part `share` of step or validation `number`, replacing a file of this
/// name. The writer of part 0 also removes files that were written with another number of parts.
void write_rollouts(const std::filesystem::path& folder, const std::string& prefix, int64_t number,
                    const std::vector<RolloutRecord>& records, Share share = {});

/// Reads all parts of one step in `folder` or folder/rollouts (key rollout_replay) and checks all records. Returns the
/// records whose group_index modulo share.count is share.index, sorted by (group_index, sample_index). Greedy baselines
/// (rollout_record.h) are left out unless `with_baselines`. Throws UserError if
///   - a file or part is missing, or a line is malformed or of another step
///   - groups are not 0, 1, 2, ... with `group_size` responses each, baselines not counted
///   - with_baselines is true, and a group does not have exactly one baseline
std::vector<RolloutRecord> read_replay(const std::filesystem::path& folder, int64_t step, int64_t group_size,
                                       bool with_baselines = false, Share share = {});

}  // namespace roll
