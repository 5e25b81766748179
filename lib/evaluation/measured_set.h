// A validation set, measured: all numbers of it, under the names that metrics have. They are sums in the order of
// prompts and samples, so that who sampled what changes no bit of them.
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
  std::vector<std::pair<std::string, Estimate>> numbers;  // by name, as "avg@8", in the order in which they are told
  std::vector<std::string> silent;                        // domains whose rewards say of no response what it answers

  /// nullptr: not measured.
  const Estimate* find(const std::string& name) const;
};

/// Whether metrics and files can be named by it: letters, digits, - and _.
bool is_set_name(const std::string& name);

/// The k of pass@k and maj@k beside n samples: powers of two from 2 on, and n.
std::vector<int64_t> ks_of(int64_t num_samples);

/// Of `num_samples` responses to each prompt, in any order: avg@n, pass@k, maj@k, score, response_length, truncated,
/// no_answer, unjudged. Responses that nobody judged count only in the last; a prompt with fewer than k judged ones is
/// left out of pass@k and maj@k. maj@k and no_answer are there where the rewards of all domains say what was answered.
MeasuredSet measured(std::vector<JudgedSample> samples, int64_t num_samples);

/// val/SET/NAME, and val/SET/NAME/se with the standard error.
Metrics set_metrics(const std::string& set, const MeasuredSet& numbers);

/// The names of all metrics that a set of so many samples may have.
std::vector<std::string> set_metric_names(const std::string& set, int64_t num_samples);

/// For people: a line for each set, and one for what they lack.
std::string table_of(const std::map<std::string, MeasuredSet>& sets);

}  // namespace roll
