// Computes the metrics of one validation set, for validation steps and `roll evaluate`. A sample is a response. It is
// unjudged if its reward failed (JudgedSample::is_judged). Sums run in the order of prompts and samples, so the results
// are bit-equal for any distribution of the samples over ranks.
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
  /// Domains whose rewards extract no final answers from responses, in alphabetical order. If there are any, the set
  /// has no maj@k and no_answer.
  std::vector<std::string> domains_without_answers;

  /// Returns the metric `name`; nullptr if the set does not have it.
  const Estimate* find(const std::string& name) const;
};

/// Returns true if a set may have this name, which becomes part of metric and file names. It must consist of letters,
/// digits, - and _, and not be empty.
bool is_valid_set_name(const std::string& name);

/// Returns the values of k for which pass@k and maj@k of num_samples samples are measured: the powers of two from 2 to
/// below num_samples, then num_samples. Returns none for one sample.
std::vector<int64_t> pass_at_ks(int64_t num_samples);

/// Computes the metrics of a set. `samples` must hold `num_samples` responses to each prompt, in any order, from all
/// ranks. Each metric is a mean over prompts; its value for one prompt is:
///   avg@n            share of right responses among the judged ones; n is num_samples, a score of at least 1 is right
///   pass@k, maj@k    pass_at() and majority_at() (estimates.h) of the judged responses, for each k of pass_at_ks()
///   score            mean score of the judged responses
///   response_length  mean number of generated tokens
///   truncated        share of responses that reached the length limit
///   no_answer        share of the judged responses in which no final answer was found
///   unjudged         share of responses that are unjudged
/// A prompt with fewer than k judged responses is left out of pass@k and maj@k. A prompt with none is left out of
/// avg@n, score and no_answer. maj@k and no_answer exist only if the rewards of all domains extract answers.
MeasuredSet measured(std::vector<JudgedSample> samples, int64_t num_samples);

/// Returns the metrics val/SET/NAME, and, if there is a standard error, val/SET/NAME/se. `set`: the set's name, SET.
Metrics evaluation_metrics(const std::string& set, const MeasuredSet& numbers);

/// Returns the names of all metrics that evaluation_metrics() may return for a set with `num_samples` samples per
/// prompt. `set`: the set's name.
std::vector<std::string> evaluation_metric_names(const std::string& set, int64_t num_samples);

/// Returns a text table with one line per set (key: its name), and notes about missing metrics and unjudged responses.
std::string evaluation_table(const std::map<std::string, MeasuredSet>& sets);

}  // namespace roll
