// Scores golds, the rows' own answers, with the reward. If a gold scores below 1, no response to its row can be right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/row_store.h"
#include "reward/reward.h"

namespace roll {

/// Result of scoring golds.
struct Golds {
  int64_t asked = 0;               // golds that were scored
  int64_t right = 0;               // golds with a score of at least 1
  std::vector<std::string> wrong;  // the first few golds below 1: "file:line: gold: scored 0"
};

/// Scores reward.gold_response() of up to `max_count` of the rows at `indices`, spread evenly. Rows without a gold are
/// skipped.
Golds score_golds(const RowStore& rows, const std::vector<int64_t>& indices, RewardFunction& reward, int64_t max_count);

/// Calls a reward that is code of the user once, with the ground truth of `row` as response. Throws UserError if it
/// returns no reward. `key`: the reward's key ("rewards.math"), for the message.
void test_reward_code(const Row& row, RewardFunction& reward, const std::string& key);

}  // namespace roll
