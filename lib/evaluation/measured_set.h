// Computes the metrics of one validation set, for validation steps and `roll evaluate`. A sample is a response. Sums
// run in the order of prompts and samples, so the results are bit-equal for any distribution of the samples over ranks.
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

/// Metrics of a validation set; made by measured().
struct MeasuredSet {
  int64_t num_prompts = 0;
  int64_t num_samples = 1;                                // samples per prompt
  std::vector<std::pair<std::string, Estimate>> numbers;  // metrics by name, such as "avg@8", in display order
  std::vector<std::string> silent;  // domains whose rewards extract no answers, in alphabetical order

  /// Returns the metric `name`; nullptr if the set does not have it.
  const Estimate* find(const std::string& name) const;
};

/// Returns true if the name of a set fits into metric and file names: letters, digits, - and _.
bool is_set_name(const std::string& name);

/// Returns the values of k for which pass@k and maj@k of num_samples samples are measured: the powers of two from 2 to
/// below num_samples, then num_samples. Returns none for one sample.
std::vector<int64_t> pass_at_ks(int64_t num_samples);

/// Computes avg@n (n is num_samples), pass@k, maj@k, score, response_length, truncated, no_answer and unjudged.
/// `samples` must hold `num_samples` responses to each prompt, in any order, from all ranks. Unjudged responses count
/// only in response_length, truncated and unjudged. A prompt with fewer than k judged responses is left out of pass@k
/// and maj@k. maj@k and no_answer exist only if the rewards of all domains extract answers.
MeasuredSet measured(std::vector<JudgedSample> samples, int64_t num_samples);

/// Returns the metrics val/SET/NAME, and, if there is a standard error, val/SET/NAME/se. `set`: the set's name, SET.
Metrics set_metrics(const std::string& set, const MeasuredSet& numbers);

/// Returns the names of all metrics that set_metrics() may give a set with `num_samples` samples per prompt.
std::vector<std::string> set_metric_names(const std::string& set, int64_t num_samples);

/// Returns a text table with one line per set (key: its name), and notes about missing metrics and unjudged responses.
std::string evaluation_table(const std::map<std::string, MeasuredSet>& sets);

}  // namespace roll
