// What dump_experience shows of a step: experience/step_NNNNNN.jsonl, a rollout line with what was trained on, per
// response token; and of its first updates gradients_NNNNNN.safetensors and trace_NNNNNN.json.
#pragma once

#include <filesystem>
#include <vector>

#include "records/rollout_record.h"
#include "settings/by_role.h"
#include "step/rl_step.h"
#include "step/role_trainer.h"

namespace roll {

/// Each line adds response_mask, final_response_mask, old_log_probs, energies, ref_log_probs, values, token_rewards,
/// advantages, returns: lists with one entry per response token, left out where the configuration does not compute
/// them. `records`: those of all ranks. The first of the learners gets the whole step and writes. **Collective** over
/// these.
void dump_experience(const std::filesystem::path& folder, const RlStep& step, const std::vector<RolloutRecord>& records,
                     Communicator& learners);

void dump_updates(const std::filesystem::path& folder, int64_t step, const ByRole<FirstUpdates>& of_roles);

}  // namespace roll
