#include "experience/build.h"

#include <ATen/ATen.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "experience/advantages.h"
#include "experience/correction.h"
#include "experience/rewards.h"
#include "loss/terms.h"

namespace roll {
namespace {

void add_mean_max_min(Metrics& metrics, const std::string& name, const at::Tensor& values) {
  if (values.numel() == 0) return;
  metrics.add(name + "/mean@mean", values.to(at::kDouble).mean().item<double>(), static_cast<double>(values.numel()));
  metrics.add(name + "/max@max", values.max().to(at::kDouble).item<double>());
  metrics.add(name + "/min@min", values.min().to(at::kDouble).item<double>());
}

/// The sum of a [T] tensor under the response mask for each sequence: [B] float64.
at::Tensor response_sums(const Experience& experience, const at::Tensor& tensor) {
  const at::Tensor sums = at::zeros({experience.num_sequences()}, at::kDouble);
  for (int64_t b = 0; b < experience.num_sequences(); ++b)
    sums[b] = response_part(experience, tensor, b).to(at::kDouble).sum();
  return sums;
}

at::Tensor expanded(const Experience& experience, const std::vector<char>& sample_mask) {
  at::Tensor mask = experience.response_mask().clone();
  for (int64_t b = 0; b < experience.num_sequences(); ++b)
    if (!sample_mask[b]) mask.slice(0, experience.tokens.cu_seqlens[b], experience.tokens.cu_seqlens[b + 1]).zero_();
  return mask;
}

/// Clips in place and says which share of the masked values that touched.
double clip(at::Tensor& values, const at::Tensor& mask, double limit) {
  const at::Tensor outside = values.abs().gt(limit).logical_and(mask.ne(0));
  const double num_values = mask.ne(0).sum().item<double>();
  values = values.clamp(-limit, limit);
  return num_values > 0 ? outside.sum().item<double>() / num_values : 0;
}

/// KL(old, reference) per token, 0 outside the response mask; undefined without a reference.
at::Tensor old_to_ref_kl(const Experience& experience, const ExperienceConfig& config) {
  if (!experience.ref_log_probs.defined() || !experience.old_log_probs.defined()) {
    ROLL_CHECK(!needs_ref_log_probs(config), "the KL of the token rewards needs old and reference log-probs");
    return {};
  }
  const at::Tensor zero = at::zeros({}, at::kFloat);
  const at::Tensor d =
      at::where(experience.response_mask().ne(0), experience.old_log_probs - experience.ref_log_probs, zero);
  return kl_term(d, zero, config.kl_penalty);
}

/// The mean over all sequences with a response of their token means; their number.
Moments sequence_kl(const Experience& experience, const at::Tensor& kl, const AllReduce& all_reduce) {
  const at::Tensor lengths = at::tensor(experience.response_lengths, at::kDouble);
  return global_moments(response_sums(experience, kl) / lengths.clamp_min(1), lengths, all_reduce);
}

/// One stage of complete_experience after the other; each adds its metrics.
class Builder {
 public:
  Builder(Experience& experience, const ExperienceConfig& config, int64_t num_groups, ExperienceState& state,
          const AllReduce& all_reduce)
      : experience_(experience), config_(config), num_groups_(num_groups), state_(state), all_reduce_(all_reduce) {}

  Metrics run() {
    mask_samples();
    make_rewards();
    make_advantages();
    describe_tokens();
    describe_groups();
    return std::move(metrics_);
  }

 private:
  void mask_samples() {
    const std::vector<char> mask = sample_mask(experience_, config_, num_groups_, all_reduce_);
    experience_.masks["final_response_mask"] = expanded(experience_, mask);
    metrics_.merge(correct_for_sampler(experience_, config_.train_infer_correction));
    for (const char kept : mask) metrics_.add("actor/final_mask_ratio@mean", kept);
  }

  void make_rewards() {
    const std::vector<double> rewards =
        sequence_rewards(experience_, config_, num_groups_, state_.rewards, all_reduce_);
    if (config_.reward_clip)
      for (const double reward : experience_.rewards)
        metrics_.add("critic/reward_clip_frac@mean", std::abs(reward) > *config_.reward_clip);
    const at::Tensor kl = old_to_ref_kl(experience_, config_);
    const double coefficient = config_.add_token_level_kl ? state_.kl.coefficient() : 0;
    experience_.token_rewards =
        make_token_rewards(experience_, rewards, config_.add_token_level_kl ? kl : at::Tensor{}, coefficient);
    if (kl.defined()) update_kl(kl, coefficient);
    if (config_.whiten_rewards)
      experience_.token_rewards = whiten(experience_.token_rewards, experience_.response_mask(), all_reduce_);
  }

  void update_kl(const at::Tensor& kl, double used_coefficient) {
    const Moments moments = sequence_kl(experience_, kl, all_reduce_);
    metrics_.add("critic/kl@mean", moments.mean);
    metrics_.add("critic/kl_coef@mean", used_coefficient);
    state_.kl.update(moments.mean, static_cast<int64_t>(moments.count));
  }

  void make_advantages() {
    const bool with_values = needs_values(config_);
    ROLL_CHECK(!with_values || experience_.values.defined(), "GAE needs the critic's values");
    const AdvantagesAndReturns raw = with_values
                                         ? gae(experience_, config_.gamma, config_.lambd, config_.bootstrap_truncated)
                                         : discounted_returns(experience_, config_.gamma);
    experience_.returns = raw.returns;
    const at::Tensor& mask = experience_.final_response_mask();
    experience_.advantages =
        config_.whiten_advantages ? whiten(raw.advantages, mask, all_reduce_) : raw.advantages * mask;
    if (!config_.advantage_clip) return;
    const double share = clip(experience_.advantages, mask, *config_.advantage_clip);
    metrics_.add("critic/advantage_clip_frac@mean", share, mask.sum().item<double>());
  }

  at::Tensor responses_of(const at::Tensor& tensor) const {
    return tensor.masked_select(experience_.response_mask().ne(0));
  }

  void describe_tokens() {
    add_mean_max_min(metrics_, "critic/score", at::tensor(experience_.scores, at::kDouble));
    add_mean_max_min(metrics_, "critic/rewards", response_sums(experience_, experience_.token_rewards));
    add_mean_max_min(metrics_, "critic/advantages", responses_of(experience_.advantages));
    add_mean_max_min(metrics_, "critic/returns", responses_of(experience_.returns));
    if (experience_.values.defined()) describe_values();
    const at::Tensor prompts = at::tensor(experience_.prompt_lengths, at::kLong);
    const at::Tensor responses = at::tensor(experience_.response_lengths, at::kLong);
    add_mean_max_min(metrics_, "token/prompt_length", prompts);
    add_mean_max_min(metrics_, "token/response_length", responses);
    add_mean_max_min(metrics_, "token/total_length", prompts + responses);
  }

  /// 1 - Var(returns - values) / Var(returns); left out where the returns do not vary.
  void describe_values() {
    add_mean_max_min(metrics_, "critic/values", responses_of(experience_.values));
    const at::Tensor& mask = experience_.response_mask();
    const Moments returns = global_moments(experience_.returns, mask, all_reduce_);
    const Moments errors = global_moments(experience_.returns - experience_.values, mask, all_reduce_);
    if (returns.squares > 0) metrics_.add("critic/explained_variance@mean", 1 - errors.squares / returns.squares);
  }

  /// A group is all correct when every score is >= 1, all incorrect when every score is <= 0.
  void describe_groups() {
    std::vector<double> correct, incorrect;
    for (const double score : experience_.scores) {
      correct.push_back(score >= 1);
      incorrect.push_back(score <= 0);
    }
    const auto right = group_moments(correct, experience_.group_index, num_groups_, all_reduce_);
    const auto wrong = group_moments(incorrect, experience_.group_index, num_groups_, all_reduce_);
    for (int64_t g = 0; g < num_groups_; ++g) {
      if (right[g].count == 0) continue;
      metrics_.add("group/all_correct_ratio@mean", right[g].mean == 1);
      metrics_.add("group/all_incorrect_ratio@mean", wrong[g].mean == 1);
      metrics_.add("group/mixed_ratio@mean", right[g].mean < 1 && wrong[g].mean < 1);
    }
  }

  Experience& experience_;
  const ExperienceConfig& config_;
  int64_t num_groups_;
  ExperienceState& state_;
  const AllReduce& all_reduce_;
  Metrics metrics_;
};

}  // namespace

Json ExperienceState::state() const {
  return {{"kl", kl.state()}, {"rewards", rewards.state()}};
}

void ExperienceState::load_state(const Json& state) {
  kl.load_state(state.at("kl"));
  rewards.load_state(state.at("rewards"));
}

bool needs_ref_log_probs(const ExperienceConfig& config) {
  // An adaptive coefficient is only ever multiplied: one that starts at 0 stays there.
  return config.add_token_level_kl && config.init_kl_coef > 0;
}

bool needs_values(const ExperienceConfig& config) {
  return config.adv_estimator == AdvEstimator::kGae;
}

Metrics complete_experience(Experience& experience, const ExperienceConfig& config, int64_t num_groups,
                            ExperienceState& state, const AllReduce& all_reduce) {
  return Builder(experience, config, num_groups, state, all_reduce).run();
}

}  // namespace roll
