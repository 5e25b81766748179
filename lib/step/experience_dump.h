// Writes the files of the key dump_experience, for users who inspect a run: step_NNNNNN.jsonl with each response and
// its training data per token, and for the run's first updates gradients_NNNNNN.safetensors and trace_NNNNNN.json.
#pragma once

#include <filesystem>
#include <vector>

#include "records/rollout_record.h"
#include "settings/by_role.h"
#include "step/rl_step.h"
#include "step/role_trainer.h"

namespace roll {

/// Writes <folder>/step_NNNNNN.jsonl, a line per response: its rollout record, and lists with a number per response
/// token: response_mask, final_response_mask, old_log_probs, energies, ref_log_probs, teacher_kl, values,
/// token_rewards, advantages, returns (experience/experience.h). Lists that the configuration does not compute are left
/// out. The first rank of `learners`, the communicator that step.home names, gathers the step and writes. `records`:
/// those of all ranks, in the order of the step's sequences; only the first rank needs them. Baseline responses are
/// left out. Throws SystemError if the file cannot be written. **Collective** over `learners`.
void dump_experience(const std::filesystem::path& folder, const RlStep& step, const std::vector<RolloutRecord>& records,
                     Communicator& learners);

/// Writes <folder>/gradients_NNNNNN.safetensors and trace_NNNNNN.json (Chrome's trace format) from the first updates of
/// all roles (UpdateViews::first). Call it on one rank; `folder` must exist. Throws SystemError if a file cannot be
/// written.
void dump_updates(const std::filesystem::path& folder, int64_t step, const ByRole<FirstUpdates>& role_updates);

}  // namespace roll
