// The stage from scores and log-probs to an experience that can be trained on. Models are not seen here: the trainer
// fills old_log_probs, ref_log_probs and values first.
#pragma once

#include <cstdint>

#include "experience/config.h"
#include "experience/experience.h"
#include "experience/kl_controller.h"
#include "experience/moments.h"
#include "track/metrics.h"

namespace roll {

/// What outlives a step.
struct ExperienceState {
  explicit ExperienceState(const ExperienceConfig& config) : kl(config) {}
  KlController kl;
  RunningMoments rewards;

  Json state() const;
  void load_state(const Json& state);
};

/// Which tensors `complete_experience` reads under this configuration; the loss may need more.
bool needs_ref_log_probs(const ExperienceConfig& config);  // and with them old_log_probs
bool needs_values(const ExperienceConfig& config);

/// Fills final_response_mask, token_rewards, advantages and returns of this rank's sequences from scores, rewards,
/// response_mask, old/ref log-probs and values, and moves `state` on by one step. `num_groups`: prompts of the step
/// over all ranks. Rewards are whitened over response_mask; returns are kept there too, so that the critic learns from
/// every response. Advantages are whitened over final_response_mask and are 0 outside it.
/// Returns this rank's part, to be merged over ranks, of critic/{score,rewards,advantages,returns,values}/{mean,max,
/// min} (rewards: each sequence's sum of token rewards), critic/{kl,kl_coef,reward_clip_frac,advantage_clip_frac,
/// explained_variance}, actor/final_mask_ratio, group/{all_correct,all_incorrect,mixed}_ratio,
/// token/{prompt,response,total}_length/{mean,max,min}. **Collective**.
/// UserError: those of rewards.h. Bug: a tensor that the configuration needs is missing.
Metrics complete_experience(Experience& experience, const ExperienceConfig& config, int64_t num_groups,
                            ExperienceState& state, const AllReduce& all_reduce);

}  // namespace roll
