// Advantage estimators for advantages.cpp, for trajectories in environments: each turn is one action.
#pragma once

#include "experience/advantages.h"

namespace roll {

/// Step-level REINFORCE, as in ROLL. A turn's return is its reward plus step_reward_gamma times the next turn's return,
/// normalised over the turns of the batch or group as configured. It is the advantage of the turn's tokens.
AdvantagesAndReturns step_reinforce(const Part& part, const ExperienceConfig& config);

/// GiGPO (Feng et al. 2025): episode_reward_weight x the trajectory's reward, normalised over its group, plus
/// step_reward_weight x the turn's return, normalised over the group's turns with the same first observation. With
/// episode_statistics = turns (ROLL's) a trajectory counts once per turn, with trajectories (the paper's equation 3)
/// once. A value without others to compare with gives 0.
AdvantagesAndReturns gigpo(const Part& part, const ExperienceConfig& config);

}  // namespace roll
