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

/// Fills final_response_mask, token_rewards, advantages and returns of this rank's sequences from scores,
/// response_mask, old/ref log-probs and values, and moves `state` on by one step. `num_groups`: prompts of the step
/// over all ranks. Whitening of rewards and advantages uses the tokens of final_response_mask; advantages are 0
/// outside it, returns are kept wherever response_mask is 1 (the critic learns from every response).
/// Returns this rank's part of critic/{score,rewards,advantages,returns,values}/{mean,max,min}, critic/{kl,kl_coef,
/// reward_clip_frac,advantage_clip_frac,explained_variance}, actor/final_mask_ratio, group/{all_correct,all_incorrect,
/// mixed}_ratio, token/{prompt,response,total}_length/{mean,max,min}, to be merged over ranks. **Collective**.
/// UserError: a tensor that the configuration needs is missing, and the errors of rewards.h.
Metrics complete_experience(Experience& experience, const ExperienceConfig& config, int64_t num_groups,
                            ExperienceState& state, const AllReduce& all_reduce);

}  // namespace roll
