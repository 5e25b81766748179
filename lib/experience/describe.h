// Metrics of a completed experience, or of a domain's part of it.
#pragma once

#include <cstdint>

#include "experience/config.h"
#include "experience/experience.h"
#include "track/metrics.h"

namespace roll {

/// critic/{score,rewards,advantages,returns,values}/{mean,max,min} (score: the verdict; rewards: each sequence's sum of
/// token rewards; the others: of response tokens), critic/kl where there is a reference, critic/explained_variance,
/// group/{all_correct,all_incorrect,mixed}_ratio of the scores, token/{prompt,response,total}_length/{mean,max,min}.
Metrics describe(const Experience& experience, const ExperienceConfig& config, int64_t num_groups);

}  // namespace roll
