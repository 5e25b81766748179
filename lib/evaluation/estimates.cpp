#include "evaluation/estimates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"

namespace roll {

namespace {

/// Probability that the majority answer is right, with ties broken at random.
double majority_is_right(std::span<const JudgedAnswer> samples) {
  int64_t num_right = 0;
  std::map<std::string_view, int64_t> wrong;
  for (const JudgedAnswer& sample : samples) {
    if (sample.is_right)
      ++num_right;
    else if (!sample.answer.empty())
      ++wrong[sample.answer];
  }
  if (num_right == 0) return 0;
  int64_t num_tied = 1;  // answers with the most votes, the right one included
  for (const auto& [answer, votes] : wrong) {
    if (votes > num_right) return 0;
    num_tied += votes == num_right;
  }
  return 1.0 / static_cast<double>(num_tied);
}

int64_t count_right(const PromptSamples& samples) {
  return std::ranges::count_if(samples, &JudgedAnswer::is_right);
}

void check_k(const PromptSamples& samples, int64_t k) {
  ROLL_CHECK(k >= 1 && k <= std::ssize(samples), "k is within 1..n samples");
}

}  // namespace

std::optional<Estimate> estimate_mean(std::span<const double> prompt_values) {
  if (prompt_values.empty()) return std::nullopt;
  const auto num = static_cast<double>(prompt_values.size());
  Estimate estimate{.mean = std::accumulate(prompt_values.begin(), prompt_values.end(), 0.0) / num,
                    .standard_error = {}};
  if (prompt_values.size() == 1) return estimate;
  double squares = 0;
  for (const double value : prompt_values) squares += (value - estimate.mean) * (value - estimate.mean);
  estimate.standard_error = std::sqrt(squares / (num - 1) / num);
  return estimate;
}

std::optional<double> clustered_error(const std::map<int64_t, PromptSum>& prompts) {
  if (prompts.size() < 2) return std::nullopt;
  PromptSum total;
  for (const auto& [prompt, prompt_sum] : prompts) {
    total.sum += prompt_sum.sum;
    total.count += prompt_sum.count;
  }
  const auto num_samples = static_cast<double>(total.count), num_prompts = static_cast<double>(prompts.size());
  double squares = 0;
  for (const auto& [prompt, prompt_sum] : prompts) {
    const double residual = prompt_sum.sum - static_cast<double>(prompt_sum.count) * total.sum / num_samples;
    squares += residual * residual;
  }
  return std::sqrt(num_prompts / (num_prompts - 1) * squares) / num_samples;
}

double average_at(const PromptSamples& samples) {
  return static_cast<double>(count_right(samples)) / static_cast<double>(samples.size());
}

double pass_at(const PromptSamples& samples, int64_t k) {
  check_k(samples, k);
  const int64_t num = std::ssize(samples), num_wrong = num - count_right(samples);
  double all_wrong = 1;  // C(num_wrong, k) / C(num, k), factor by factor
  for (int64_t i = 0; i < k; ++i)
    all_wrong *= static_cast<double>(std::max<int64_t>(0, num_wrong - i)) / static_cast<double>(num - i);
  return 1 - all_wrong;
}

double majority_at(const PromptSamples& samples, int64_t k) {
  check_k(samples, k);
  const int64_t num_runs = std::ssize(samples) / k;
  double sum = 0;
  for (int64_t run = 0; run < num_runs; ++run)
    sum += majority_is_right(std::span(samples).subspan(static_cast<size_t>(run * k), static_cast<size_t>(k)));
  return sum / static_cast<double>(num_runs);
}

}  // namespace roll
