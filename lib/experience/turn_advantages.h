// Advantages of turns: each turn of a trajectory in an environment is an action of its own.
#pragma once

#include "experience/advantages.h"

namespace roll {

/// Step-level REINFORCE, as ROLL's: the return of a turn is its reward and step_reward_gamma times that of the next
/// turn; it is normalised over all turns of the batch or the group as the configuration says, and is the advantage of
/// the turn's tokens.
AdvantagesAndReturns step_reinforce(const Part& part, const ExperienceConfig& config);

/// GiGPO (Feng et al. 2025): episode_reward_weight times the trajectory's reward, normalised over its group, plus
/// step_reward_weight times the turn's return, normalised over the turns of the group that began with the same
/// observation. Under episode_statistics = turns (ROLL's) a trajectory counts in its group once for each of its turns,
/// under trajectories (the paper's equation 3) once. A number that has nothing to be compared with gives 0.
AdvantagesAndReturns gigpo(const Part& part, const ExperienceConfig& config);

}  // namespace roll
