// A reward's verdict on what the rows themselves hold to be right: where that is no 1, no response can earn it either.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/row_store.h"
#include "reward/reward.h"

namespace roll {

struct Golds {
  int64_t asked = 0, right = 0;
  std::vector<std::string> wrong;  // the first few: "file:line: ground_truth ...: scored 0, read as ..."
};

/// Scores the gold_response() of up to `most` of the rows `indices`, evenly spread; none where the type makes none.
Golds score_golds(const RowStore& rows, const std::vector<int64_t>& indices, RewardFunction& reward, int64_t most);

/// Asks the user's own code for the reward of one row, with the ground truth as response. UserError: it gave none.
void try_out(const Row& row, RewardFunction& reward, const std::string& where);

}  // namespace roll
