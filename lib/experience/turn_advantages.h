// Advantage estimators for trajectories in environments, where each turn is one action; rows of the table in
// advantages.cpp. All tokens of a turn get the same advantage; returns = advantages. Both throw UserError if a judged
// response has no turns. They need no communication.
#pragma once

#include "experience/advantages.h"

namespace roll {

/// Step-level REINFORCE, as in ROLL. A turn's return is its reward plus step_reward_gamma times the next turn's return,
/// normalised over the turns of the step, or of the prompt's group, as norm_mean_type and norm_std_type say.
AdvantagesAndReturns step_reinforce(const Part& part, const ExperienceConfig& config);

/// GiGPO (Feng et al. 2025): episode_reward_weight x the trajectory's reward, normalised over its group, plus
/// step_reward_weight x the turn's return, normalised over the group's turns with the same first observation. With
/// episode_statistics = turns (ROLL's) a trajectory counts once per turn, with trajectories (the paper's equation 3)
/// once. A value that has no others to compare with gives 0.
AdvantagesAndReturns gigpo(const Part& part, const ExperienceConfig& config);

}  // namespace roll
