// The files of a step's rollouts. Who samples writes: one group of ranks writes step_NNNNNN.jsonl, several write a part
// each, step_NNNNNN-00001-of-00004.jsonl, which are read back as one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dist/mesh.h"
#include "records/rollout_record.h"

namespace roll {

/// One of several that share something.
struct Share {
  int64_t index = 0, count = 1;
};

/// Which part of a step's rollouts this rank writes, or reads: one that speaks for a group that samples.
std::optional<Share> sampler_share(RoleMesh& sampler);

/// ".jsonl", or the end of a part's name: "-00002-of-00004.jsonl".
std::string part_suffix(Share share);

/// The files of one step or validation, in the order of its parts; none: nobody wrote it.
std::vector<std::filesystem::path> rollout_files(const std::filesystem::path& folder, const std::string& prefix,
                                                 int64_t number);
/// The numbers of which a folder has a file, ascending; none where there is no folder.
std::vector<int64_t> rollout_numbers(const std::filesystem::path& folder, const std::string& prefix);

/// Removes the files of steps after `step`, which a run that goes on from there writes again.
void take_back_rollouts(const std::filesystem::path& folder, const std::string& prefix, int64_t step);

/// This share of the records of a step or a validation ("step_", "val_"); makes the folder. The first one removes what
/// another number of shares wrote of it before.
void write_rollouts(const std::filesystem::path& folder, const std::string& prefix, int64_t number,
                    const std::vector<RolloutRecord>& records, Share share = {});

/// The records of one step of a `rollout_replay` folder, DIR or DIR/rollouts, of which a rank keeps every count-th
/// group and checks all. They come sorted by (group_index, sample_index), baselines only if wanted. UserError: no such
/// file, a part that is missing, a malformed line or one of another step, a group or sample twice, groups of different
/// size than `group_size` (baselines not counted), a group without the baseline that is wanted.
std::vector<RolloutRecord> read_replay(const std::filesystem::path& folder, int64_t step, int64_t group_size,
                                       bool with_baselines = false, Share share = {});

}  // namespace roll
