// The flag --speculation of commands that sample, such as `roll generate` and `roll serve`.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "rollout/token_guesser.h"

namespace roll {

/// Adds the flag and sets `guesser` to a new one; parsing "none" makes it null. `guesser` must outlive `sub`.
void add_speculation_flag(CLI::App& sub, std::shared_ptr<TokenGuesser>& guesser);

}  // namespace roll
