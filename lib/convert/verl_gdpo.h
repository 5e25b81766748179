// Converts the rewards of verl's GDPO for verl.cpp: numbers in the dict that its reward function returns.
#pragma once

#include <string>

#include "convert/table.h"

namespace roll {

/// Makes the domain python a weighted sum with a term for each of algorithm.gdpo_reward_keys. `function`: FILE:NAME, or
/// empty. UserError: no keys, no function, or the wrong number of weights.
void set_verl_gdpo_terms(Conversion& c, const std::string& function);

}  // namespace roll
