// Game in which the model guesses a secret number, with hints.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Reward 1 for the secret, 0 for another number, format_penalty for a message without one. Ends when the secret is
/// found. UserError: an empty range; see also ActionText.
std::unique_ptr<Environment> make_guess_the_number(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
