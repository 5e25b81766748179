// Completes an experience for training: computes masks, token rewards, advantages and returns from scores and
// log-probs. Runs no model: the caller, StepTrainer (step/step_trainer.h), first fills old_log_probs, ref_log_probs and
// values.
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

/// Holds the coefficient of the KL term in the token reward: constant (init_kl_coef), or adapted so that the KL
/// approaches the key target_kl.
class KlController {
 public:
  explicit KlController(const ExperienceConfig& config);

  double coefficient() const { return coefficient_; }
  /// If target_kl is set: coefficient *= 1 + clip(kl / target_kl - 1, -0.2, 0.2) * num_sequences / kl_horizon (Ziegler
  /// et al. 2019, section 2.2); else does nothing. kl: mean KL in nats per token over a step's num_sequences sequences
  /// on all ranks (sequence_kl() in rewards.h).
  void update(double kl, int64_t num_sequences);

  /// Return and restore the coefficient, for checkpoints.
  Json state() const;
  void load_state(const Json& state);

 private:
  std::optional<double> target_;
  double horizon_;
  double coefficient_;
};

/// State that a domain of prompts keeps between steps.
struct DomainState {
  KlController kl;
  RunningMoments rewards;
};

/// State that outlives a step, per domain. If statistics_per_domain is false, there is one state, under the name "".
class ExperienceState {
 public:
  explicit ExperienceState(const ExperienceConfig& config) : fresh_{KlController(config), {}} {}

  /// Returns a domain's state; makes it at first use.
  DomainState& domain_state(const std::string& domain);

  /// Return and restore the state of all domains, for checkpoints.
  Json state() const;
  void load_state(const Json& state);

 private:
  DomainState fresh_;
  std::map<std::string, DomainState> domains_;
};

/// Fills final_response_mask, positive_response_mask, is_weights, token_rewards, advantages and returns of
/// step.experience from scores, rewards, response_mask, old/ref log-probs, teacher_kl and values, and advances `state`
/// by one step. Works domain by domain, or on all sequences at once if statistics_per_domain is false. num_groups:
/// number of prompts of the step, over all domains.
///
/// Each operation below happens only if a key asks for it. Rewards are normalised, then clipped. Token rewards are
/// clipped again after subtracting the KL, then whitened over response_mask. Returns cover response_mask, so that the
/// critic learns from every response. A teacher's KL is subtracted from the advantages; with is_pure_opd, minus this KL
/// replaces advantages and returns. Advantages are whitened over final_response_mask, set to 0 outside it, then
/// clipped.
///
/// Returns the metrics of describe.h and correction.h, kl_coef, {reward,token_reward,advantage}_clip_frac and
/// actor/final_mask_ratio, for the whole step and as <domain>/... for domains other than "" (there only those of
/// describe() if statistics_per_domain is false). The whole step's kl_coef is the mean over domains.
///
/// Throws UserError if a deviation over a single response is needed, error_max_len_clip lacks error_max_len_threshold,
/// or an estimator needs turns and a response has none. Throws Bug if a needed tensor is missing. **Collective** over
/// step.ranks, which all get the same metrics.
Metrics complete_experience(Part& step, const ExperienceConfig& config, int64_t num_groups, ExperienceState& state);
/// Does the same for a step whose responses are all on this rank.
Metrics complete_experience(Experience& step, const ExperienceConfig& config, int64_t num_groups,
                            ExperienceState& state);

}  // namespace roll
