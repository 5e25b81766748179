// The files of a step's rollouts, written by the ranks that sample: one group of ranks writes step_NNNNNN.jsonl,
// several write a part each, step_NNNNNN-00001-of-00004.jsonl, which are read back as one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "records/rollout_record.h"

namespace roll {

/// Number `index` of `count` parts.
struct Share {
  int64_t index = 0, count = 1;
};

/// The part of a step's rollouts that this rank writes or reads; nullopt where it leads no group that samples.
std::optional<Share> sampler_share(RoleMesh& sampler);

/// ".jsonl", or the end of a part's name: "-00002-of-00004.jsonl".
std::string part_suffix(Share share);

/// The files of one step or validation, in the order of its parts; empty where there are none.
std::vector<std::filesystem::path> rollout_files(const std::filesystem::path& folder, const std::string& prefix,
                                                 int64_t number);
/// The numbers of the steps or validations in a folder, ascending; empty where there is no folder.
std::vector<int64_t> rollout_numbers(const std::filesystem::path& folder, const std::string& prefix);

/// Removes the files of steps after `step`, which a run that goes on from there writes again.
void take_back_rollouts(const std::filesystem::path& folder, const std::string& prefix, int64_t step);

/// Writes this share of the records of a step or a validation ("step_", "val_"), and makes the folder. The first share
/// removes files of another number of shares.
void write_rollouts(const std::filesystem::path& folder, const std::string& prefix, int64_t number,
                    const std::vector<RolloutRecord>& records, Share share = {});

/// The records of one step of a `rollout_replay` folder, DIR or DIR/rollouts, of which a rank keeps every count-th
/// group and checks all. They come sorted by (group_index, sample_index), baselines only if wanted. UserError: no such
/// file, a part that is missing, a malformed line or one of another step, a group or sample twice, groups of different
/// size than `group_size` (baselines not counted), a group without the baseline that is wanted.
std::vector<RolloutRecord> read_replay(const std::filesystem::path& folder, int64_t step, int64_t group_size,
                                       bool with_baselines = false, Share share = {});

}  // namespace roll
