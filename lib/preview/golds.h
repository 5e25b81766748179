// Scores the rows' own answers (golds) with the reward. If a gold scores below 1, no response can be right either.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/row_store.h"
#include "reward/reward.h"

namespace roll {

/// Counts of scored golds.
struct Golds {
  int64_t asked = 0, right = 0;
  std::vector<std::string> wrong;  // the first few: "file:line: gold: scored 0"
};

/// Scores gold_response() of up to `max_count` evenly spread rows of `indices`; rows without one are skipped.
Golds score_golds(const RowStore& rows, const std::vector<int64_t>& indices, RewardFunction& reward, int64_t max_count);

/// Calls the user's reward code once, with the ground truth as response. UserError: it returns no reward.
void test_reward_code(const Row& row, RewardFunction& reward, const std::string& key);

}  // namespace roll
