// Advantages of turns: each turn of a trajectory in an environment is an action of its own.
#pragma once

#include "experience/advantages.h"

namespace roll {

/// Step-level REINFORCE, as ROLL's: the return of a turn is its reward and step_reward_gamma times that of the next
/// turn; it is normalised over all turns of the batch or the group as the configuration says, and is the advantage of
/// the turn's tokens.
AdvantagesAndReturns step_reinforce(const Part& part, const ExperienceConfig& config);

/// GiGPO (Feng et al. 2025), as ROLL's: episode_reward_weight times the trajectory's reward, normalised over the turns
/// of its group, plus step_reward_weight times the turn's return, normalised over the turns of the group that began
/// with the same observation. What has nothing to be compared with is 0.
AdvantagesAndReturns gigpo(const Part& part, const ExperienceConfig& config);

}  // namespace roll
