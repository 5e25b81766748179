// What dump_experience shows of a step: experience/step_NNNNNN.jsonl, a rollout line with what was trained on, per
// response token; and of its first updates gradients_NNNNNN.safetensors and trace_NNNNNN.json.
#pragma once

#include <filesystem>
#include <vector>

#include "experience/experience.h"
#include "records/rollout_record.h"
#include "step/ppo.h"

namespace roll {

/// Each line adds response_mask, final_response_mask, old_log_probs, ref_log_probs, values, token_rewards, advantages,
/// returns: lists with one entry per response token, left out where the configuration does not compute them.
void dump_experience(const std::filesystem::path& folder, int64_t step, const std::vector<RolloutRecord>& records,
                     const Experience& experience);

/// What the ranks of a role know of its update becomes known to all learners. **Collective** over these.
void broadcast(FirstUpdates& of_role, RoleMesh& role);

/// Of the roles, in this order.
void dump_updates(const std::filesystem::path& folder, int64_t step, std::vector<FirstUpdates> of_roles);

}  // namespace roll
