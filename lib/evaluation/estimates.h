// Computes avg@k, pass@k and maj@k of one prompt from its samples (judged responses), and means over prompts with their
// standard errors, for measured_set.h and comparison.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace roll {

/// A judged response (a sample).
struct JudgedAnswer {
  bool is_right = false;
  std::string answer;  // final answer; "": the response has none, so it casts no vote in maj@k
};
/// All samples of one prompt, in sampling order.
using PromptSamples = std::vector<JudgedAnswer>;

/// A mean over prompts.
struct Estimate {
  double mean = 0;                       // mean over the prompts
  std::optional<double> standard_error;  // standard error of the mean; unset if there is only one prompt
};

/// Returns the mean of n values, one per prompt, and its standard error: standard deviation (over n - 1) / sqrt(n).
/// Returns nullopt if there are no prompts.
std::optional<Estimate> estimate_mean(std::span<const double> prompt_values);

/// Sum and number of the values of one prompt's samples.
struct PromptSum {
  double sum = 0;
  int64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
};
/// Returns the cluster-robust standard error of the mean m over all samples, where the samples of a prompt form a
/// cluster: sqrt(P / (P - 1) * sum over prompts of (sum - count * m)^2) / N, for P prompts and N samples in all.
/// Returns nullopt if P < 2. The keys of the map only identify the prompts.
std::optional<double> clustered_error(const std::map<int64_t, PromptSum>& prompts);

/// Returns avg@k: the share of right samples. `samples` must not be empty.
double average_at(const PromptSamples& samples);

/// Returns pass@k: the probability that at least one of k samples is right. It is the unbiased estimate 1 - C(n - c,
/// k) / C(n, k) for n samples and c right ones (Chen et al. 2021, "Evaluating large language models trained on code",
/// eq. 1). Throws Bug if k is not in 1..n.
double pass_at(const PromptSamples& samples, int64_t k);

/// Returns maj@k: how often the most frequent answer of k samples is right (Wang et al. 2022, "Self-consistency"), as
/// the mean over the floor(n / k) groups of k consecutive samples. All right samples count as one answer; wrong samples
/// agree if their answers are equal texts. If answers tie, each counts as chosen with equal probability. Without any
/// answer, the group counts as wrong. Throws Bug if k is not in 1..n.
double majority_at(const PromptSamples& samples, int64_t k);

}  // namespace roll
