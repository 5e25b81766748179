// A secret number that is to be guessed, with hints.
#pragma once

#include <memory>
#include <string>

#include "environment/types.h"

namespace roll {

/// Reward 1 for the secret, 0 for another number, format_penalty for a message without one; over when it is found.
/// UserError: an empty range, and as ActionText.
std::unique_ptr<Environment> make_guess_the_number(const EnvironmentArgs& args, const std::string& where);

}  // namespace roll
