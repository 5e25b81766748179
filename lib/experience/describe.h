// Computes metrics of a completed experience (build.h), as a whole or of one domain. A group is the responses to one
// prompt. A response is judged if a reward could be obtained for it (ResponseFacts::is_judged).
#pragma once

#include <cstdint>
#include <string>

#include "experience/config.h"
#include "experience/part.h"
#include "track/metrics.h"

namespace roll {

/// Metrics of a Part (part.h) on one rank.
struct PartMetrics {
  Metrics local;   // from this rank's sequences; the caller must merge them over ranks
  Metrics global;  // from the sequences of all ranks; equal on every rank, so not to be merged over ranks

  /// Adds the other's metrics, with `prefix` directly before their names: "math/".
  void merge(const PartMetrics& other, const std::string& prefix = "") {
    local.merge(other.local, prefix);
    global.merge(other.global, prefix);
  }
};

/// Adds histograms (track/histogram.h) of the rewards of this rank's judged responses, and of the advantages of their
/// sampled tokens. The caller must merge them over ranks.
void add_histograms(const Experience& experience, Metrics& metrics);

/// Returns these metrics of a step's responses, and the same as <domain>/... for domains other than "":
///   score/{mean,max,min}                           over judged responses
///   token/prompt_length/{mean,max,min}             tokens of the first prompt
///   token/later_prompt_length/{mean,max,min}       the environment's tokens before each later turn
///   token/response_length/{mean,max,min}           sampled tokens
///   token/total_length/{mean,max,min}              all of these together
///   group/{all_correct,all_incorrect,mixed}_ratio  shares of the groups with a judged response
/// A group is mixed if the rewards of its judged responses differ. Otherwise it is all correct if the mean of their
/// scores is above 0, else all incorrect. `step` has the facts of all ranks' responses, so the result is equal on all
/// ranks. num_groups: number of prompts of the step.
Metrics score_metrics(const StepFacts& step, int64_t num_groups);

/// Returns these metrics of `part`. PartMetrics::local gets:
///   rewards/{mean,max,min}                             of judged responses: the sum of a response's token rewards
///   {advantages,returns,critic/values}/{mean,max,min}  of the sampled tokens of judged responses
/// PartMetrics::global gets the metrics of score_metrics() without <domain>/..., and:
///   kl (with a reference), teacher_kl (with teachers), critic/explained_variance (with a critic)
/// critic/values exist only with a critic. num_groups: number of prompts of the step. **Collective** over part.ranks.
PartMetrics describe(const Part& part, const ExperienceConfig& config, int64_t num_groups);

}  // namespace roll
