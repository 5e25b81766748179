// Guesses the reward type from the ground truths of the data rows, for `roll new`.
#pragma once

#include <string>
#include <vector>

#include "data/row_columns.h"

namespace roll {

struct GuessedReward {
  std::string type;  // a value of the key `type` of a reward
  std::string why;   // "200 of the first 200 rows have a number or LaTeX as the right answer"
};

/// Guesses from the first 200 rows of `files` (paths), read by `columns` or a recognised layout. Returns the first of
/// ifeval, code_sandbox and multiple_choice that can judge all these rows, else math_rule if at least 90 % of the
/// ground truths hold digits or LaTeX. Throws UserError "--reward: ..." if no type is found; the message says what to
/// type.
GuessedReward guess_reward(const std::vector<std::string>& files, const RowColumns& columns = {});

}  // namespace roll
