// The reward that rows want, by what they hold to be right.
#pragma once

#include <string>
#include <vector>

#include "data/row_columns.h"

namespace roll {

struct GuessedReward {
  std::string type;
  std::string why;  // "200 of the first 200 right answers hold a number or LaTeX"
};

/// By the first rows of the files, in these columns or those of a layout that is recognised: a type that can judge all
/// of them and few others (instructions, programs with tests, choices), else math_rule where nearly all right answers
/// hold digits or LaTeX. UserError "--reward: ...": the rows do not tell, with what to type.
GuessedReward guess_reward(const std::vector<std::string>& files, const RowColumns& columns = {});

}  // namespace roll
