// Metrics of one validation set, used by validation steps and `roll evaluate`. Sums run in the order of prompts and
// samples, so the results are bit-equal for any distribution of the samples over ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/estimates.h"
#include "evaluation/judged_sample.h"
#include "track/metrics.h"

namespace roll {

struct MeasuredSet {
  int64_t num_prompts = 0, num_samples = 1;
  std::vector<std::pair<std::string, Estimate>> numbers;  // by name, such as "avg@8", in display order
  std::vector<std::string> silent;                        // domains whose rewards extract no answers

  /// Returns nullptr if the set has no such metric.
  const Estimate* find(const std::string& name) const;
};

/// Returns whether the name fits into metric and file names: letters, digits, - and _.
bool is_set_name(const std::string& name);

/// Returns the values of k for pass@k and maj@k with n samples: powers of two from 2 on, and n.
std::vector<int64_t> pass_at_ks(int64_t num_samples);

/// Computes avg@n, pass@k, maj@k, score, response_length, truncated, no_answer and unjudged. `samples` holds
/// `num_samples` responses to each prompt, in any order. Unjudged responses count only in response_length, truncated
/// and unjudged. A prompt with fewer than k judged responses is left out of pass@k and maj@k. maj@k and no_answer exist
/// only if the rewards of all domains extract answers.
MeasuredSet measured(std::vector<JudgedSample> samples, int64_t num_samples);

/// Returns the metrics val/SET/NAME, and val/SET/NAME/se with the standard error.
Metrics set_metrics(const std::string& set, const MeasuredSet& numbers);

/// Returns the names of all metrics that a set with `num_samples` samples per prompt may have.
std::vector<std::string> set_metric_names(const std::string& set, int64_t num_samples);

/// Returns a text table with one line per set, and notes about missing metrics and unjudged responses.
std::string evaluation_table(const std::map<std::string, MeasuredSet>& sets);

}  // namespace roll
