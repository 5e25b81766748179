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
  Distribution holders;  // rank of each response
};

/// Returns the turns of a response in an environment; empty for other responses.
Turns record_turns(const RolloutRecord& record);

/// Returns the facts of this rank's records as a message.
FactsMessage facts_message(const std::vector<RolloutRecord>& records, bool with_parts = false);

/// Gathers the facts of all ranks' responses. `local`: this rank's records in any order; this call sorts them.
/// Greedy baseline responses are not sequences: their group's responses store their rewards. If the reward of one
/// failed, its group counts as unjudged. `with_parts`: include reward parts. **Collective** over `world`. UserError:
/// two ranks hold the same response.
StepIndex make_step_index(std::vector<RolloutRecord>& local, Communicator& world, bool with_parts = false);

/// Returns the experience of this rank's `share`, with the sampler's log-probs, and for each token the `num_experts`
/// recorded expert choices (0: routers choose anew). `local`: as sorted by make_step_index().
Experience make_experience(const std::vector<RolloutRecord>& local, const StepFacts& step,
                           const std::vector<int64_t>& share, int64_t num_experts = 0);

}  // namespace roll
