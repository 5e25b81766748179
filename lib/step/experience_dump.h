// Writes the files of dump_experience: experience/step_NNNNNN.jsonl with each rollout and its training data per
// response token, and for the first updates gradients_NNNNNN.safetensors and trace_NNNNNN.json.
#pragma once

#include <filesystem>
#include <vector>

#include "records/rollout_record.h"
#include "settings/by_role.h"
#include "step/rl_step.h"
#include "step/role_trainer.h"

namespace roll {

/// Writes a line per response: its record, and lists per response token of response_mask, final_response_mask,
/// old_log_probs, energies, ref_log_probs, teacher_kl, values, token_rewards, advantages, returns, as far as the
/// configuration computes them. `records`: those of all ranks. The first learner gathers the step and writes.
/// **Collective** over `learners`.
void dump_experience(const std::filesystem::path& folder, const RlStep& step, const std::vector<RolloutRecord>& records,
                     Communicator& learners);

/// Writes gradients and traces of the first updates.
void dump_updates(const std::filesystem::path& folder, int64_t step, const ByRole<FirstUpdates>& role_updates);

}  // namespace roll
