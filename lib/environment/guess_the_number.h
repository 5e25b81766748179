// Environment type `guess_the_number`: the model guesses a secret number in [min_number, max_number]; each answer says
// whether the number is higher or lower.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Creates the environment. The reward is 1 for the secret number, 0 for another one, or format_penalty for a message
/// without a number. The level ends when the number is found. `where`: prefix of configuration keys in error messages.
/// Throws UserError if min_number is above max_number, or action_pattern is invalid.
std::unique_ptr<Environment> make_guess_the_number(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
