// Environment type `frozen_lake`, as in ROLL: the model walks over a lake with holes to a goal. The grid is text; the
// actions are Left, Down, Right and Up.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Creates the environment. A turn's reward is 1 if it reaches the goal, else 0, or format_penalty for a message
/// without an action. The level ends on the goal or in a hole. `where`: prefix of configuration keys in error messages.
/// Throws UserError if action_pattern, grid_lookup or action_lookup is invalid.
std::unique_ptr<Environment> make_frozen_lake(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
