// Files with the rollouts of a step, written by the sampling ranks. One sampling group writes step_NNNNNN.jsonl;
// several groups write one part each, step_NNNNNN-00001-of-00004.jsonl. Readers join the parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "records/rollout_record.h"

namespace roll {

/// Part `index` (from 0) of `count` parts.
struct Share {
  int64_t index = 0, count = 1;
};

/// Returns the part that this rank writes or reads; nullopt if the rank leads no sampling group.
std::optional<Share> sampler_share(RoleMesh& sampler);

/// Returns ".jsonl", or the ending of a part's name: "-00002-of-00004.jsonl".
std::string part_suffix(Share share);

/// Returns the files of one step or validation, sorted by part; empty if there are none.
std::vector<std::filesystem::path> rollout_files(const std::filesystem::path& folder, const std::string& prefix,
                                                 int64_t number);
/// Returns the step or validation numbers in a folder, ascending; empty if the folder does not exist.
std::vector<int64_t> rollout_numbers(const std::filesystem::path& folder, const std::string& prefix);

/// Removes the files of steps after `step`; a resumed run writes them again.
void take_back_rollouts(const std::filesystem::path& folder, const std::string& prefix, int64_t step);

/// Creates the folder and writes this share's records of a step ("step_") or validation ("val_"). Share 0 also removes
/// files written with another number of shares.
void write_rollouts(const std::filesystem::path& folder, const std::string& prefix, int64_t number,
                    const std::vector<RolloutRecord>& records, Share share = {});

/// Reads one step of a `rollout_replay` folder (DIR or DIR/rollouts). Checks all records and returns every count-th
/// group, sorted by (group_index, sample_index); baselines only if requested. UserError: a missing file or part, a
/// malformed line, a line of another step, a duplicate group or sample, a group whose size (without baselines) is not
/// `group_size`, or a missing baseline.
std::vector<RolloutRecord> read_replay(const std::filesystem::path& folder, int64_t step, int64_t group_size,
                                       bool with_baselines = false, Share share = {});

}  // namespace roll
