// The stage from scores and log-probs to an experience that can be trained on. Models are not seen here: the trainer
// fills old_log_probs, ref_log_probs and values first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "experience/config.h"
#include "experience/moments.h"
#include "experience/part.h"
#include "track/metrics.h"

namespace roll {

/// The coefficient of the KL term in the token reward: constant, or adapted towards a target KL.
class KlController {
 public:
  explicit KlController(const ExperienceConfig& config);

  double coefficient() const { return coefficient_; }
  /// With a target: coefficient *= 1 + clip(kl / target - 1, -0.2, 0.2) * num_sequences / kl_horizon (Ziegler et al.
  /// 2019, section 2.2). `kl`: mean over the sequences of the global batch; `num_sequences`: how many those are.
  void update(double kl, int64_t num_sequences);

  Json state() const;
  void load_state(const Json& state);

 private:
  std::optional<double> target_;
  double horizon_;
  double coefficient_;
};

struct DomainState {
  KlController kl;
  RunningMoments rewards;
};

/// The state that outlives a step: of each domain, or under statistics_per_domain: false of the whole batch, as "".
class ExperienceState {
 public:
  explicit ExperienceState(const ExperienceConfig& config) : fresh_{KlController(config), {}} {}

  DomainState& of(const std::string& domain);

  Json state() const;
  void load_state(const Json& state);

 private:
  DomainState fresh_;
  std::map<std::string, DomainState> domains_;
};

/// Fills final_response_mask, positive_response_mask, token_rewards, advantages and returns from scores, rewards,
/// response_mask, old/ref log-probs, teacher_kl and values, and moves `state` on by one step; domain by domain or,
/// under statistics_per_domain: false, at once. `num_groups`: prompts of the step. Rewards are normalised, then
/// clipped; token rewards are clipped again once the KL is off them, then whitened over response_mask; returns are kept
/// there too, so that the critic learns from every response. A teacher's KL is taken off the advantages, or under
/// is_pure_opd makes them, and the returns. Advantages are whitened over final_response_mask and are 0 outside it.
/// Returns the metrics of describe.h, kl_coef, {reward,token_reward,advantage}_clip_frac, actor/final_mask_ratio and
/// those of correction.h: of the whole step, and as <domain>/... of each domain with a name (under
/// statistics_per_domain: false, those of describe.h alone). Of the whole, kl_coef is the mean over the domains.
/// UserError: those of rewards.h. Bug: a tensor that the configuration needs is missing. **Collective** over the ranks
/// that share the step out, which all get the same metrics.
Metrics complete_experience(Part& step, const ExperienceConfig& config, int64_t num_groups, ExperienceState& state);
/// As above, for a step of which this rank has every response.
Metrics complete_experience(Experience& step, const ExperienceConfig& config, int64_t num_groups,
                            ExperienceState& state);

}  // namespace roll
