// Computes metrics of a completed experience (build.h), as a whole or of one domain. A group is the responses to one
// prompt.
#pragma once

#include <cstdint>
#include <string>

#include "experience/config.h"
#include "experience/part.h"
#include "track/metrics.h"

namespace roll {

/// Metrics of a Part (part.h) on one rank.
struct PartMetrics {
  Metrics local;   // from this rank's sequences; to be merged over ranks
  Metrics global;  // from all sequences; equal on every rank

  /// Adds the other's metrics, with `prefix` before their names.
  void merge(const PartMetrics& other, const std::string& prefix = "") {
    local.merge(other.local, prefix);
    global.merge(other.global, prefix);
  }
};

/// Adds histograms of the rewards and advantages of this rank's responses (track/histogram.h), to be merged over ranks.
void add_histograms(const Experience& experience, Metrics& metrics);

/// Returns these metrics of a step's responses, and the same as <domain>/... for domains other than "":
///   {score, token/{prompt,later_prompt,response,total}_length}/{mean,max,min}
///   group/{all_correct,all_incorrect,mixed}_ratio
/// later_prompt: the environment's tokens before a later turn. A group is mixed if its rewards differ. Computed from
/// facts alone, so equal on all ranks. num_groups: number of prompts of the step.
Metrics score_metrics(const StepFacts& step, int64_t num_groups);

/// Returns the metrics of score_metrics() without <domain>/..., and:
///   {rewards,advantages,returns,critic/values}/{mean,max,min}
///   kl (with a reference), teacher_kl (with teachers), critic/explained_variance (with a critic)
/// rewards are sums of token rewards per response; advantages, returns and values are per sampled token of judged
/// responses. num_groups: number of prompts of the step. **Collective** over part.ranks.
PartMetrics describe(const Part& part, const ExperienceConfig& config, int64_t num_groups);

}  // namespace roll
