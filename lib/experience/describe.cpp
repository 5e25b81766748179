#include "experience/describe.h"

#include <ATen/ATen.h>

#include "experience/moments.h"
#include "experience/rewards.h"
#include "track/histogram.h"

namespace roll {
namespace {

void add_mean_max_min(const std::string& name, const at::Tensor& values, Metrics& metrics) {
  if (values.numel() == 0) return;
  metrics.add(name + "/mean@mean", values.to(at::kDouble).mean().item<double>(), static_cast<double>(values.numel()));
  metrics.add(name + "/max@max", values.max().to(at::kDouble).item<double>());
  metrics.add(name + "/min@min", values.min().to(at::kDouble).item<double>());
}

/// Response lengths count sampled tokens; the environment's tokens before later turns count as prompts.
void add_lengths(const StepFacts& step, Metrics& metrics) {
  std::vector<int64_t> responses, later_prompts;
  for (const ResponseFacts& r : step.responses) {
    responses.push_back(r.num_model_tokens());
    for (size_t k = 1; k < r.turns.size(); ++k) later_prompts.push_back(r.turns[k].begin - r.turns[k - 1].end);
  }
  const std::vector<int64_t> prompts = column(step.responses, &ResponseFacts::prompt_length);
  add_mean_max_min("token/prompt_length", at::tensor(prompts, at::kLong), metrics);
  add_mean_max_min("token/later_prompt_length", at::tensor(later_prompts, at::kLong), metrics);
  add_mean_max_min("token/response_length", at::tensor(responses, at::kLong), metrics);
  add_mean_max_min("token/total_length", at::tensor(step.lengths(), at::kLong), metrics);
}

/// Adds 1 - Var(returns - values) / Var(returns), unless the returns are constant.
void add_explained_variance(const Part& part, Metrics& metrics) {
  const Experience& e = part.experience;
  const Moments returns = masked_moments(e.returns, e.response_mask(), &part.ranks);
  const Moments errors = masked_moments(e.returns - e.values, e.response_mask(), &part.ranks);
  if (returns.squares > 0) metrics.add("critic/explained_variance@mean", 1 - errors.squares / returns.squares);
}

/// A group is mixed if its rewards differ, on any scale; otherwise it is all correct if its scores are above 0.
void add_groups(const StepFacts& step, int64_t num_groups, Metrics& metrics) {
  const std::vector<char> differ = groups_that_differ(step, num_groups);
  const auto scores = group_moments(column(step.responses, &ResponseFacts::score), step, num_groups);
  for (int64_t g = 0; g < num_groups; ++g) {
    if (scores[g].count == 0) continue;
    metrics.add("group/all_correct_ratio@mean", !differ[g] && scores[g].mean > 0);
    metrics.add("group/all_incorrect_ratio@mean", !differ[g] && !(scores[g].mean > 0));
    metrics.add("group/mixed_ratio@mean", differ[g]);
  }
}

at::Tensor select_judged(const at::Tensor& values, const std::vector<ResponseFacts>& responses) {
  return values.masked_select(judged_mask(responses).ne(0));
}

Metrics compute_score_metrics(const StepFacts& step, int64_t num_groups) {
  Metrics metrics;
  add_mean_max_min(
      "score", select_judged(at::tensor(column(step.responses, &ResponseFacts::score), at::kDouble), step.responses),
      metrics);
  add_groups(step, num_groups, metrics);
  add_lengths(step, metrics);
  return metrics;
}

at::Tensor judged_rewards(const Experience& e) {
  return select_judged(response_sums(e, e.token_rewards), e.responses);
}

}  // namespace

Metrics score_metrics(const StepFacts& step, int64_t num_groups) {
  Metrics metrics = compute_score_metrics(step, num_groups);
  for (const auto& [domain, sequences] : sequences_by_domain(step.responses))
    if (!domain.empty())
      metrics.merge(compute_score_metrics({picked(step.responses, sequences)}, num_groups), domain + "/");
  return metrics;
}

void add_histograms(const Experience& experience, Metrics& metrics) {
  add_histogram("rewards", judged_rewards(experience), metrics);
  add_histogram("advantages", experience.advantages.masked_select(experience.response_mask().ne(0)), metrics);
}

PartMetrics describe(const Part& part, const ExperienceConfig& config, int64_t num_groups) {
  PartMetrics metrics;
  const Experience& e = part.experience;
  const auto response_values = [&](const at::Tensor& tensor) { return tensor.masked_select(e.response_mask().ne(0)); };
  add_mean_max_min("rewards", judged_rewards(e), metrics.local);
  add_mean_max_min("advantages", response_values(e.advantages), metrics.local);
  add_mean_max_min("returns", response_values(e.returns), metrics.local);
  if (e.values.defined()) {
    add_mean_max_min("critic/values", response_values(e.values), metrics.local);
    add_explained_variance(part, metrics.global);
  }
  if (const at::Tensor kl = old_to_ref_kl(e, config); kl.defined())
    metrics.global.add("kl@mean", sequence_kl(e, kl, part.ranks).mean);
  if (e.teacher_kl.defined()) metrics.global.add("teacher_kl@mean", sequence_kl(e, e.teacher_kl, part.ranks).mean);
  metrics.global.merge(compute_score_metrics(part.facts, num_groups));
  return metrics;
}

}  // namespace roll
