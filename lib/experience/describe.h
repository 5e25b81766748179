// Computes metrics of a completed experience, or of one domain, for build.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "experience/config.h"
#include "experience/part.h"
#include "track/metrics.h"

namespace roll {

/// Metrics of a part on one rank.
struct PartMetrics {
  Metrics local;   // from this rank's sequences; to be merged over ranks
  Metrics global;  // from all sequences; equal on every rank

  void merge(const PartMetrics& other, const std::string& prefix = "") {
    local.merge(other.local, prefix);
    global.merge(other.global, prefix);
  }
};

/// Adds histograms of this rank's rewards and advantages (track/histogram.h).
void add_histograms(const Experience& experience, Metrics& metrics);

/// Returns {score,token/{prompt,later_prompt,response,total}_length}/{mean,max,min} and
/// group/{all_correct,all_incorrect,mixed}_ratio of a step's responses, and as <domain>/... for named domains.
Metrics score_metrics(const StepFacts& step, int64_t num_groups);

/// Returns {score,rewards,advantages,returns,critic/values}/{mean,max,min}, kl with a reference, teacher_kl with
/// teachers, critic/explained_variance, group/{all_correct,all_incorrect,mixed}_ratio,
/// token/{prompt,later_prompt,response,total}_length/{mean,max,min}. rewards are sums of token rewards per sequence;
/// advantages, returns and values are per response token.
/// **Collective** over the part's ranks.
PartMetrics describe(const Part& part, const ExperienceConfig& config, int64_t num_groups);

}  // namespace roll
