// Facts of all responses of a step, on every rank. The responses stay where they were sampled or read.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/communicator.h"
#include "experience/experience.h"
#include "records/messages.h"
#include "records/rollout_record.h"
#include "step/redistribution.h"

namespace roll {

struct StepIndex {
  StepFacts facts;       // in data order: by group, then sample
  Distribution holders;  // which rank holds which response
};

/// Returns the turns of a response in an environment; empty for other responses.
Turns record_turns(const RolloutRecord& record);

/// Returns the facts of this rank's records as a message.
FactsMessage facts_message(const std::vector<RolloutRecord>& records, bool with_parts = false);

/// Gathers the facts of all ranks' responses. `mine`: this rank's records, in any order; sorted by the call. Greedy
/// baseline responses are no sequences: they give their reward to their group's responses; if one could not be judged,
/// its group counts as unjudged. `with_parts`: include reward parts. **Collective** over `world`. UserError: two ranks
/// hold the same response.
StepIndex make_step_index(std::vector<RolloutRecord>& local, Communicator& world, bool with_parts = false);

/// Returns the experience of this rank's `share`, with the sampler's log-probs, and for each token the `num_experts`
/// recorded expert choices (0: routers choose anew). `mine`: as sorted by make_step_index().
Experience make_experience(const std::vector<RolloutRecord>& local, const StepFacts& step,
                           const std::vector<int64_t>& share, int64_t num_experts = 0);

}  // namespace roll
