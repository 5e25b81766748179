// Sokoban on text, as ROLL's: boxes are pushed onto targets.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Rewards as gym_sokoban's: -0.1 a turn, 1 for a box on a target, -1 for one that leaves it, 10 more when all are
/// there; a message without an action costs the turn and format_penalty. Over when all boxes are on targets. Levels are
/// played backwards from their end, so that each can be solved.
/// UserError: a room too small for its boxes, and as ActionText and renamed().
std::unique_ptr<Environment> make_sokoban(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
