// Sokoban as text, as in ROLL: the player pushes boxes onto targets.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Rewards are those of gym_sokoban: -0.1 per turn, 1 for a box pushed onto a target, -1 for one pushed off, 10 more
/// when all are on targets, which ends the level. A message without an action gets -0.1 plus format_penalty. Levels are
/// made by playing backwards from the solved room, so that each can be solved. UserError: the room is too small for its
/// boxes; see also ActionText and renamed().
std::unique_ptr<Environment> make_sokoban(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
