// Scores rows with responses for `roll score`: one JSON line with a reward per row, in order.
#pragma once

#include <functional>
#include <iosfwd>
#include <vector>

#include "data/row_source.h"
#include "reward/reward.h"

namespace roll {

struct ScoredRows {
  int64_t num_rows = 0;
  RewardFaults faults;
};

/// Scores queries and returns their results in order.
using ScoreBatch = std::function<std::vector<RewardResult>(std::vector<RewardQuery>)>;

/// Reads {"response", "ground_truth"[, "prompt", "messages", "tag", "domain", "finish_reason", "num_response_tokens",
/// "prompt_ids", "response_ids"]} of each row and writes {"reward", "detail"}; the reward is null without a verdict.
/// Columns are read as in training data (data/columns.h); a row with instruction_id_list or test_cases needs no
/// ground_truth. UserError "file:line: ...": a field is missing or mistyped.
ScoredRows score_rows(const ScoreBatch& score, const RowSource& rows, std::ostream& out);

/// Returns whether the row has a right answer: ground_truth, instruction_id_list or test_cases.
bool names_right_answer(const Json& row);

}  // namespace roll
