// What several samples of each prompt say of a model: avg@k, pass@k, maj@k, with standard errors over the prompts.
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
  std::string answer;  // what it says in the end; empty: nothing, which is no vote
};
/// All judged responses to one prompt, in the order of their sampling.
using PromptSamples = std::vector<JudgedAnswer>;

struct Estimate {
  double mean = 0;                       // over the prompts
  std::optional<double> standard_error;  // of that mean: s / sqrt(prompts), s with n - 1; none of one prompt
};

/// Of one number per prompt; nullopt of none.
std::optional<Estimate> estimate_of(std::span<const double> of_prompts);

/// The sum over a prompt's samples.
struct PromptSum {
  double sum = 0;
  int64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
};
/// Standard error of the mean over all samples, where those of one prompt are alike: the cluster-robust one,
/// sqrt(P / (P - 1) sum_p (sum_p - count_p mean)^2) / N over P prompts and N samples. nullopt of fewer than two
/// prompts.
std::optional<double> clustered_error(const std::map<int64_t, PromptSum>& prompts);

/// The share of right samples.
double average_at(const PromptSamples& samples);

/// The chance that among k of the samples one is right: the unbiased 1 - C(n - c, k) / C(n, k) with c right ones of n
/// (Chen et al. 2021, "Evaluating large language models trained on code", eq. 1). Bug: k is not in 1..n.
double pass_at(const PromptSamples& samples, int64_t k);

/// How often the answer that most of k samples give is right (Wang et al. 2022, "Self-consistency"): the mean over the
/// n / k runs of k neighbouring samples. Right samples agree, whatever they write; wrong ones do where their text is
/// the same. Of answers with equally many votes each is as likely. Bug: k is not in 1..n.
double majority_at(const PromptSamples& samples, int64_t k);

}  // namespace roll
