// experience/step_NNNNNN.jsonl: a rollout line with what was trained on, per response token.
#pragma once

#include <filesystem>
#include <vector>

#include "experience/experience.h"
#include "train/rollout_record.h"

namespace roll {

/// Each line adds response_mask, final_response_mask, old_log_probs, ref_log_probs, values, token_rewards, advantages,
/// returns: lists with one entry per response token, left out where the configuration does not compute them.
void dump_experience(const std::filesystem::path& folder, int64_t step, const std::vector<RolloutRecord>& records,
                     const Experience& experience);

}  // namespace roll
