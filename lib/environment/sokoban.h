// Environment type `sokoban`, as in ROLL: the model pushes boxes onto targets. The room is text; the actions are words.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Creates the environment. Rewards are those of gym_sokoban: -0.1 per turn, 1 for a box pushed onto a target, -1 for a
/// box pushed off a target. When all boxes are on targets, 10 more are given and the level ends. A message without an
/// action gets -0.1 plus format_penalty. Levels are made by playing backwards from the solved room, so that each can be
/// solved. `where`: prefix of configuration keys in error messages. Throws UserError if dim_room is not two numbers,
/// the room is too small for its boxes, or action_pattern, grid_lookup or action_lookup is invalid.
std::unique_ptr<Environment> make_sokoban(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
