// Guesses the reward type from the ground truths of the data rows, for `roll new`.
#pragma once

#include <string>
#include <vector>

#include "data/row_columns.h"

namespace roll {

struct GuessedReward {
  std::string type;
  std::string why;  // "200 of the first 200 rows have a number or LaTeX as the right answer"
};

/// Guesses from the first rows of the files, read with `columns` or a recognised layout. Picks the special type that
/// can judge all rows (instructions, programs with tests, choices), else math_rule if nearly all answers hold digits or
/// LaTeX. UserError "--reward: ...": the rows do not decide it; the message says what to type.
GuessedReward guess_reward(const std::vector<std::string>& files, const RowColumns& columns = {});

}  // namespace roll
