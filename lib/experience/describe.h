// Metrics of a completed experience, or of a domain's part of it.
#pragma once

#include <cstdint>
#include <string>

#include "experience/config.h"
#include "experience/part.h"
#include "track/metrics.h"

namespace roll {

/// The metrics that a rank has of a part.
struct PartMetrics {
  Metrics of_here;  // of its own sequences, to be merged over the ranks
  Metrics of_all;   // of all sequences, equal on every rank

  void merge(const PartMetrics& other, const std::string& prefix = "") {
    of_here.merge(other.of_here, prefix);
    of_all.merge(other.of_all, prefix);
  }
};

/// Histograms of this rank's rewards and advantages (track/histogram.h).
void add_histograms(const Experience& here, Metrics& metrics);

/// {score,token/{prompt,response,total}_length}/{mean,max,min} and group/{all_correct,all_incorrect,mixed}_ratio of a
/// step's responses, and as <domain>/... of each domain with a name.
Metrics score_metrics(const StepFacts& step, int64_t num_groups);

/// {score,rewards,advantages,returns,critic/values}/{mean,max,min} (score: the verdict; rewards: each sequence's sum of
/// token rewards; the others: of response tokens), kl where there is a reference, teacher_kl where there are teachers,
/// critic/explained_variance, group/{all_correct,all_incorrect,mixed}_ratio,
/// token/{prompt,response,total}_length/{mean,max,min}.
/// **Collective** over the part's ranks.
PartMetrics describe(const Part& part, const ExperienceConfig& config, int64_t num_groups);

}  // namespace roll
