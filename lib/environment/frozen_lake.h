// FrozenLake on text, as ROLL's: a lake with holes, start and goal anywhere, actions in words.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Reward 1 on the goal, 0 elsewhere, format_penalty for a message without an action; over on the goal or in a hole.
/// UserError: see ActionText and renamed().
std::unique_ptr<Environment> make_frozen_lake(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
