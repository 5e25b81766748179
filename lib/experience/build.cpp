#include "experience/build.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/merged_metrics.h"
#include "experience/advantages.h"
#include "experience/correction.h"
#include "experience/describe.h"
#include "experience/rewards.h"

namespace roll {
namespace {

constexpr auto kCompleted = {&Experience::is_weights, &Experience::token_rewards, &Experience::advantages,
                             &Experience::returns};
constexpr auto kCompletedMasks = {"final_response_mask", "positive_response_mask"};

/// Returns `mask` [T] with the sequences that are not chosen set to 0.
at::Tensor select_mask(const at::Tensor& mask, const Experience& experience, const std::vector<char>& chosen) {
  at::Tensor part = mask.clone();
  for (int64_t b = 0; b < experience.num_sequences(); ++b)
    if (!chosen[b]) part.slice(0, experience.tokens.cu_seqlens[b], experience.tokens.cu_seqlens[b + 1]).zero_();
  return part;
}

/// Clamps values; `metric` is the share of masked values that were clipped.
at::Tensor clipped(const at::Tensor& values, const at::Tensor& mask, double limit, const char* metric,
                   Metrics& metrics) {
  const at::Tensor outside = values.abs().gt(limit).logical_and(mask.ne(0));
  const double num_values = mask.ne(0).sum().item<double>();
  if (num_values > 0) metrics.add(metric, outside.sum().item<double>() / num_values, num_values);
  return values.clamp(-limit, limit);
}

void mask_samples(Part& part, const ExperienceConfig& config, int64_t num_groups, PartMetrics& metrics) {
  Experience& e = part.experience;
  const std::vector<char> mask = sample_mask(part.facts, config, num_groups);
  e.masks["final_response_mask"] = select_mask(e.response_mask(), e, part.select_local(mask));
  metrics.local.merge(correct_for_sampler(e, config.train_infer_correction));
  std::vector<char> is_positive;
  for (const ResponseFacts& response : e.responses) is_positive.push_back(response.score > 0);
  e.masks["positive_response_mask"] = select_mask(e.final_response_mask(), e, is_positive);
  for (const char kept : mask) metrics.global.add("actor/final_mask_ratio@mean", kept);
}

void make_rewards(Part& part, const ExperienceConfig& config, int64_t num_groups, DomainState& state,
                  PartMetrics& metrics) {
  Experience& e = part.experience;
  std::vector<double> rewards = normalised_rewards(part.facts, config, num_groups, state.rewards);
  if (const auto limit = config.reward_clip)
    for (size_t b = 0; b < rewards.size(); ++b) {
      if (part.facts.responses[b].is_judged) metrics.global.add("reward_clip_frac@mean", std::abs(rewards[b]) > *limit);
      rewards[b] = std::clamp(rewards[b], -*limit, *limit);
    }
  const at::Tensor kl = old_to_ref_kl(e, config);
  const double coefficient = config.add_token_level_kl ? state.kl.coefficient() : 0;
  e.token_rewards =
      make_token_rewards(e, part.select_local(rewards), config.add_token_level_kl ? kl : at::Tensor{}, coefficient);
  if (config.reward_clip && config.add_token_level_kl)
    e.token_rewards =
        clipped(e.token_rewards, e.response_mask(), *config.reward_clip, "token_reward_clip_frac@mean", metrics.local);
  if (kl.defined()) {
    const Moments moments = sequence_kl(e, kl, part.ranks);
    metrics.global.add("kl_coef@mean", coefficient);
    state.kl.update(moments.mean, static_cast<int64_t>(moments.count));
  }
  if (config.whiten_rewards) e.token_rewards = whiten(e.token_rewards, e.response_mask(), part.ranks);
}

/// Computes advantages. On-policy distillation (Lu et al. 2025): a token's advantage is the teacher's log-prob less the
/// policy's, alone or added to that of rewards.
void make_advantages(Part& part, const ExperienceConfig& config, PartMetrics& metrics) {
  Experience& e = part.experience;
  AdvantagesAndReturns raw = config.is_pure_opd ? AdvantagesAndReturns{-e.teacher_kl, -e.teacher_kl}
                                                : config.adv_estimator->compute(part, config);
  if (config.use_opd) raw.advantages = raw.advantages - e.teacher_kl;
  const at::Tensor& mask = e.final_response_mask();
  e.returns = raw.returns;
  e.advantages = config.whitens() ? whiten(raw.advantages, mask, part.ranks) : raw.advantages * mask;
  if (config.advantage_clip)
    e.advantages = clipped(e.advantages, mask, *config.advantage_clip, "advantage_clip_frac@mean", metrics.local);
}

/// Runs the stages whose statistics cover all sequences of the part.
PartMetrics complete_part(Part& part, const ExperienceConfig& config, int64_t num_groups, DomainState& state) {
  PartMetrics metrics;
  mask_samples(part, config, num_groups, metrics);
  make_rewards(part, config, num_groups, state, metrics);
  make_advantages(part, config, metrics);
  return metrics;
}

/// Returns a part with these sequences; `local` lists those on this rank.
Part select_part(const Part& whole, const std::vector<int64_t>& sequences, const std::vector<int64_t>& local) {
  std::vector<int64_t> global_index;
  for (const int64_t b : local)
    global_index.push_back(std::ranges::lower_bound(sequences, whole.global_index[b]) - sequences.begin());
  return {select(whole.experience, local),
          {picked(whole.facts.responses, sequences)},
          std::move(global_index),
          whole.ranks};
}

void clear_completed(Experience& e) {
  for (const char* mask : kCompletedMasks) e.masks.erase(mask);
  for (const auto tensor : kCompleted) e.*tensor = at::Tensor();
}

/// Copies the completed tensors of these sequences into the whole.
void put_back(const Experience& part, const std::vector<int64_t>& sequences, Experience& whole) {
  const at::Tensor tokens = token_indices(whole, sequences);
  const auto put = [&](const at::Tensor& from, at::Tensor& to) {
    if (!from.defined()) return;
    if (!to.defined()) to = at::zeros({whole.tokens.num_tokens()}, from.options());
    to.index_copy_(0, tokens, from);
  };
  for (const char* mask : kCompletedMasks) put(part.mask(mask), whole.masks[mask]);
  for (const auto tensor : kCompleted) put(part.*tensor, whole.*tensor);
}

}  // namespace

KlController::KlController(const ExperienceConfig& config)
    : target_(config.target_kl), horizon_(static_cast<double>(config.kl_horizon)), coefficient_(config.init_kl_coef) {}

void KlController::update(double kl, int64_t num_sequences) {
  if (!target_) return;
  const double error = std::clamp(kl / *target_ - 1, -0.2, 0.2);
  coefficient_ *= 1 + error * static_cast<double>(num_sequences) / horizon_;
}

Json KlController::state() const {
  return {{"kl_coef", coefficient_}};
}

void KlController::load_state(const Json& state) {
  coefficient_ = state.at("kl_coef").get<double>();
}

DomainState& ExperienceState::domain_state(const std::string& domain) {
  return domains_.try_emplace(domain, fresh_).first->second;
}

Json ExperienceState::state() const {
  Json state = Json::object();
  for (const auto& [domain, domain_state] : domains_)
    state[domain] = {{"kl", domain_state.kl.state()}, {"rewards", domain_state.rewards.state()}};
  return state;
}

void ExperienceState::load_state(const Json& state) {
  for (const auto& [domain, saved] : state.items()) {
    domain_state(domain).kl.load_state(saved.at("kl"));
    domain_state(domain).rewards.load_state(saved.at("rewards"));
  }
}

Metrics complete_experience(Part& step, const ExperienceConfig& config, int64_t num_groups, ExperienceState& state) {
  PartMetrics metrics;
  clear_completed(step.experience);
  if (!config.statistics_per_domain) metrics = complete_part(step, config, num_groups, state.domain_state(""));
  auto local_sequences = sequences_by_domain(step.experience.responses);
  for (const auto& [domain, sequences] : sequences_by_domain(step.facts.responses)) {
    Part part = select_part(step, sequences, local_sequences[domain]);
    PartMetrics domain_metrics;
    if (config.statistics_per_domain) {
      domain_metrics = complete_part(part, config, num_groups, state.domain_state(domain));
      put_back(part.experience, local_sequences[domain], step.experience);
      metrics.merge(domain_metrics);
    }
    domain_metrics.merge(describe(part, config, num_groups));
    if (!domain.empty()) metrics.merge(domain_metrics, domain + "/");
  }
  metrics.merge(describe(step, config, num_groups));
  add_histograms(step.experience, metrics.local);
  Metrics merged = merge_over_ranks(metrics.local, step.ranks);
  merged.merge(metrics.global);
  return merged;
}

Metrics complete_experience(Experience& step, const ExperienceConfig& config, int64_t num_groups,
                            ExperienceState& state) {
  Part whole(step);
  const Metrics metrics = complete_experience(whole, config, num_groups, state);
  step = std::move(whole.experience);
  return metrics;
}

}  // namespace roll
