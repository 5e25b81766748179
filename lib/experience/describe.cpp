#include "experience/describe.h"

#include <ATen/ATen.h>

#include <string>

#include "experience/moments.h"
#include "experience/rewards.h"

namespace roll {
namespace {

void add_mean_max_min(const std::string& name, const at::Tensor& values, Metrics& metrics) {
  if (values.numel() == 0) return;
  metrics.add(name + "/mean@mean", values.to(at::kDouble).mean().item<double>(), static_cast<double>(values.numel()));
  metrics.add(name + "/max@max", values.max().to(at::kDouble).item<double>());
  metrics.add(name + "/min@min", values.min().to(at::kDouble).item<double>());
}

void add_lengths(const Experience& e, Metrics& metrics) {
  const at::Tensor prompts = at::tensor(e.prompt_lengths, at::kLong);
  const at::Tensor responses = at::tensor(e.response_lengths, at::kLong);
  add_mean_max_min("token/prompt_length", prompts, metrics);
  add_mean_max_min("token/response_length", responses, metrics);
  add_mean_max_min("token/total_length", prompts + responses, metrics);
}

/// 1 - Var(returns - values) / Var(returns); left out where the returns do not vary.
void add_explained_variance(const Experience& e, Metrics& metrics) {
  const Moments returns = masked_moments(e.returns, e.response_mask());
  const Moments errors = masked_moments(e.returns - e.values, e.response_mask());
  if (returns.squares > 0) metrics.add("critic/explained_variance@mean", 1 - errors.squares / returns.squares);
}

/// A group is all correct when every score is >= 1, all incorrect when every score is <= 0.
void add_groups(const Experience& e, int64_t num_groups, Metrics& metrics) {
  std::vector<double> correct, incorrect;
  for (const double score : e.scores) {
    correct.push_back(score >= 1);
    incorrect.push_back(score <= 0);
  }
  const auto right = group_moments(correct, e, num_groups);
  const auto wrong = group_moments(incorrect, e, num_groups);
  for (int64_t g = 0; g < num_groups; ++g) {
    if (right[g].count == 0) continue;
    metrics.add("group/all_correct_ratio@mean", right[g].mean == 1);
    metrics.add("group/all_incorrect_ratio@mean", wrong[g].mean == 1);
    metrics.add("group/mixed_ratio@mean", right[g].mean < 1 && wrong[g].mean < 1);
  }
}

}  // namespace

Metrics describe(const Experience& e, const ExperienceConfig& config, int64_t num_groups) {
  Metrics metrics;
  const auto of_responses = [&](const at::Tensor& tensor) { return tensor.masked_select(e.response_mask().ne(0)); };
  const at::Tensor judged = at::tensor(std::vector<int64_t>(e.judged.begin(), e.judged.end())).to(at::kBool);
  const auto of_judged = [&](const at::Tensor& values) { return values.masked_select(judged); };
  add_mean_max_min("critic/score", of_judged(at::tensor(e.scores, at::kDouble)), metrics);
  add_mean_max_min("critic/rewards", of_judged(response_sums(e, e.token_rewards)), metrics);
  add_mean_max_min("critic/advantages", of_responses(e.advantages), metrics);
  add_mean_max_min("critic/returns", of_responses(e.returns), metrics);
  if (e.values.defined()) {
    add_mean_max_min("critic/values", of_responses(e.values), metrics);
    add_explained_variance(e, metrics);
  }
  if (const at::Tensor kl = old_to_ref_kl(e, config); kl.defined())
    metrics.add("critic/kl@mean", sequence_kl(e, kl).mean);
  add_groups(e, num_groups, metrics);
  add_lengths(e, metrics);
  return metrics;
}

}  // namespace roll
