// Computes avg@k, pass@k and maj@k from several samples per prompt, with standard errors over the prompts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace roll {

/// A judged response.
struct JudgedAnswer {
  bool is_right = false;
  std::string answer;  // final answer; empty: none found, casts no vote in maj@k
};
/// All judged responses to one prompt, in sampling order.
using PromptSamples = std::vector<JudgedAnswer>;

struct Estimate {
  double mean = 0;                       // mean over the prompts
  std::optional<double> standard_error;  // standard deviation (n - 1) / sqrt(n); unset for one prompt
};

/// Returns mean and standard error of one value per prompt; nullopt if there are no prompts.
std::optional<Estimate> estimate_mean(std::span<const double> prompt_values);

/// Sum and number of one prompt's samples.
struct PromptSum {
  double sum = 0;
  int64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
};
/// Returns the cluster-robust standard error of the mean over all samples, with one cluster per prompt:
/// sqrt(P / (P - 1) sum_p (sum_p - count_p mean)^2) / N over P prompts and N samples. nullopt if P < 2.
std::optional<double> clustered_error(const std::map<int64_t, PromptSum>& prompts);

/// Returns the share of right samples.
double average_at(const PromptSamples& samples);

/// Returns the probability that at least one of k samples is right: the unbiased 1 - C(n - c, k) / C(n, k) with c right
/// ones of n (Chen et al. 2021, "Evaluating large language models trained on code", eq. 1). Bug: k is not in 1..n.
double pass_at(const PromptSamples& samples, int64_t k);

/// Returns how often the majority of k samples is right (Wang et al. 2022, "Self-consistency"): the mean over the n / k
/// consecutive groups of k samples. All right samples count as one answer; wrong samples agree if their text is equal.
/// Each of the tied answers is equally likely. Bug: k is not in 1..n.
double majority_at(const PromptSamples& samples, int64_t k);

}  // namespace roll
