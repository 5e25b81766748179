// Gathers the facts of all responses of a step on every rank: lengths, scores, domains, ...
// (experience/response_facts.h). The responses stay on the ranks that sampled or read them. Also makes the experience
// of a rank's own responses. Used by StepTrainer::distribute().
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
  StepFacts facts;       // sorted by group, then sample; a position here is the sequence's index in the step
  Distribution holders;  // one group per world rank, with the sequences that the rank sampled or read
};

/// Returns the turns of a response in an environment, as ranges [begin, end) of its response tokens; empty for other
/// responses.
Turns record_turns(const RolloutRecord& record);

/// Returns the facts of these records as a message to other ranks. with_parts: includes the parts of each reward
/// (reward/parts.h).
FactsMessage facts_message(const std::vector<RolloutRecord>& records, bool with_parts = false);

/// Gathers the facts of all ranks' responses. local: this rank's records in any order; this call sorts them by group
/// and sample. A greedy baseline response (RolloutRecord::is_baseline) does not become a sequence: the other responses
/// of its group store its reward. If the baseline is unjudged, so is its whole group. with_parts: as for
/// facts_message(). Throws UserError if a response exists twice, Bug if only some groups have a baseline.
/// **Collective** over `world`.
StepIndex make_step_index(std::vector<RolloutRecord>& local, Communicator& world, bool with_parts = false);

/// Returns the experience of this rank's responses, with the sampler's log-probs. local: this rank's records as sorted
/// by make_step_index(). share: their indices in the step, StepIndex::holders.rank_share(this rank). num_experts: the
/// records' expert choices per token, which the trainer reuses; 0: none, so that the trainer's routers choose.
Experience make_experience(const std::vector<RolloutRecord>& local, const StepFacts& step,
                           const std::vector<int64_t>& share, int64_t num_experts = 0);

}  // namespace roll
