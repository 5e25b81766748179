// What every rank knows of every response of a step. The responses themselves stay where they were sampled, or read.
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
  StepFacts facts;       // of the responses, in data order: group after group, sample after sample
  Distribution holders;  // which rank has which of them
};

/// The turns of a response in an environment, as facts; none of others.
Turns turns_of(const RolloutRecord& record);

/// A rank's part of the facts, as it travels.
FactsMessage facts_message(const std::vector<RolloutRecord>& records, bool with_parts = false);

/// `mine`: this rank's records, in any order; sorted by it. Baselines are no sequences, but give their rewards to those
/// of their group, wherever these are; where one could not be judged, its group teaches nothing. `with_parts`: with
/// those of their rewards. **Collective** over `world`. UserError: a response that two ranks have.
StepIndex index_of(std::vector<RolloutRecord>& mine, Communicator& world, bool with_parts = false);

/// This rank's `share` of the sequences, with the sampler's log-probs, and of each token the `num_experts` that the
/// records say it went through; 0: the routers choose anew. `mine` as index_of() left it.
Experience experience_of(const std::vector<RolloutRecord>& mine, const StepFacts& step,
                         const std::vector<int64_t>& share, int64_t num_experts = 0);

}  // namespace roll
