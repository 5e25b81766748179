// Advantage estimators for trajectories in environments, where each turn is one action; rows of the table in
// advantages.cpp. All sampled tokens of a turn get the same advantage; returns = advantages. Unjudged responses get 0
// and enter no mean. Both functions throw UserError if a judged response has no turns. They are not collective:
// part.facts has all turns.
#pragma once

#include "experience/advantages.h"

namespace roll {

/// Computes step-level REINFORCE, as in ROLL. A turn's return is its reward plus step_reward_gamma times the next
/// turn's return. It is normalised as norm_mean_type and norm_std_type say, over the turns of the part or of the
/// prompt's group.
AdvantagesAndReturns step_reinforce(const Part& part, const ExperienceConfig& config);

/// Computes GiGPO (Feng et al. 2025): episode_reward_weight x the trajectory's sum of turn rewards, normalised over its
/// group, plus step_reward_weight x the turn's return, normalised over the group's turns with the same TurnFact::state.
/// With episode_statistics = turns (ROLL's), a trajectory counts once per turn; with trajectories (the paper's equation
/// 3), once. If all values to compare with are equal, the normalised value is 0.
AdvantagesAndReturns gigpo(const Part& part, const ExperienceConfig& config);

}  // namespace roll
