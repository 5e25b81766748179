// Converts the rewards of verl's GDPO for verl.cpp: several numbers in the dict that the user's Python reward function
// returns.
#pragma once

#include <string>

#include "convert/table.h"

namespace roll {

/// Makes the reward domain `python` a weighted sum with one term per name in algorithm.gdpo_reward_keys. `function` is
/// the reward function as "FILE:FUNCTION". Throws UserError if there are no names, if `function` is empty, if a reward
/// model is used, or if there is not one weight per name.
void set_verl_gdpo_terms(Conversion& c, const std::string& function);

}  // namespace roll
