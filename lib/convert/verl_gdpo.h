// The rewards of verl's GDPO, which are numbers of the dict that its reward function gives.
#pragma once

#include <string>

#include "convert/table.h"

namespace roll {

/// Makes the domain python a sum of terms, one for each of algorithm.gdpo_reward_keys. `function`: FILE:NAME; empty
/// where none is given. UserError: no keys, no function, or weights of another number.
void set_verl_gdpo_terms(Conversion& c, const std::string& function);

}  // namespace roll
