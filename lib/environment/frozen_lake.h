// FrozenLake as text, as in ROLL: a lake with holes, start and goal anywhere, actions in words.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Reward 1 on the goal, else 0; format_penalty for a message without an action. Ends on the goal or in a hole.
/// UserError: see ActionText and renamed().
std::unique_ptr<Environment> make_frozen_lake(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
