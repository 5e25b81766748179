// Gathers the facts of all responses of a step on every rank, while the responses stay on the ranks that sampled or
// read them; and makes the experience of a rank's own responses. Used by StepTrainer::distribute().
#pragma once

#include <cstdint>
#include <vector>

#include "dist/communicator.h"
#include "experience/experience.h"
#include "records/messages.h"
#include "records/rollout_record.h"
#include "step/redistribution.h"

namespace roll {

/// The sequences of a step, equal on all ranks.
struct StepIndex {
  StepFacts facts;       // by group, then sample; the order defines the sequences' indices in the step
  Distribution holders;  // a group per rank, with the sequences whose responses it sampled or read
};

/// Returns the turns of a response in an environment, as ranges of its response tokens; empty for other responses.
Turns record_turns(const RolloutRecord& record);

/// Returns the facts of these records as a message to other ranks. with_parts: includes the parts of each reward.
FactsMessage facts_message(const std::vector<RolloutRecord>& records, bool with_parts = false);

/// Gathers the facts of all ranks' responses. local: this rank's records in any order; this call sorts them by group
/// and sample. A greedy baseline response (RolloutRecord::is_baseline) does not become a sequence: the other responses
/// of its group store its reward. If the baseline is unjudged, so is its whole group. with_parts: includes the parts of
/// each reward. Throws UserError if a response exists twice, Bug if only some groups have a baseline. **Collective**
/// over `world`.
StepIndex make_step_index(std::vector<RolloutRecord>& local, Communicator& world, bool with_parts = false);

/// Returns the experience of this rank's responses, with the sampler's log-probs. local: this rank's records as sorted
/// by make_step_index(); share: their indices in the step, StepIndex::holders.rank_share(this rank). num_experts:
/// expert choices per token that the records hold and the trainer reuses; 0: none, the trainer's routers choose.
Experience make_experience(const std::vector<RolloutRecord>& local, const StepFacts& step,
                           const std::vector<int64_t>& share, int64_t num_experts = 0);

}  // namespace roll
