// Tries out a domain's reward before a run. score_golds() scores golds, responses made from the rows' ground truths: if
// a gold scores below 1, no response to its row can be right. test_reward_code() calls a reward written by the user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/row_store.h"
#include "reward/reward.h"

namespace roll {

/// Result of scoring golds.
struct Golds {
  int64_t scored = 0;  // golds that were scored
  int64_t right = 0;   // golds with a score of at least 1
  /// The first three golds with a score below 1, with row, gold and score: "file:line: gold: scored 0". If the reward
  /// could not judge the gold (a failed reward, reward.h), its error replaces "scored 0".
  std::vector<std::string> wrong_examples;
};

/// Scores reward.gold_response() of up to `max_count` of the rows at `indices`, spread evenly. Skips rows for which the
/// reward makes no gold, so that Golds::scored may be smaller. A failed reward is counted as a score of 0, not thrown.
/// Throws UserError as RewardFunction::score() does, if the reward's program or server is broken.
Golds score_golds(const RowStore& rows, const std::vector<int64_t>& indices, RewardFunction& reward, int64_t max_count);

/// Tries out a reward written by the user: prepares it and calls it once, with the ground truth of `row` as response.
/// Call it only if reward.is_user_code(). The reward's value does not matter. Throws UserError if preparing fails, the
/// call throws one, or the result is a failed reward, as after a crash or a timeout. `key`: the reward's key
/// ("rewards.math"), for the message.
void test_reward_code(const Row& row, RewardFunction& reward, const std::string& key);

}  // namespace roll
