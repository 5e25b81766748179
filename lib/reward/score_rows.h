// Scores data rows that hold responses, for the command `roll score`: writes a JSON line with the reward of each row.
#pragma once

#include <functional>
#include <iosfwd>
#include <vector>

#include "data/row_source.h"
#include "reward/reward.h"

namespace roll {

/// Summary of the scored rows.
struct ScoredRows {
  int64_t num_rows = 0;
  RewardFaults faults;  // counts of failed rewards
};

/// Scores queries (at most 4096) and returns one result per query, in order.
using ScoreBatch = std::function<std::vector<RewardResult>(std::vector<RewardQuery>)>;

/// Reads {"response", "ground_truth"[, "prompt", "messages", "tag", "domain", "finish_reason", "num_response_tokens",
/// "prompt_ids", "response_ids"]} from each of `rows` and calls `score` for batches. Writes a line {"reward", "detail"}
/// per row to `out`, in order; the reward is null if RewardResult::is_judged is false. Columns are read as in training
/// data (data/columns.h). Throws UserError "file:line: ..." if a column has a wrong type, if a row has no response, or
/// if names_right_answer() is false for it.
ScoredRows score_rows(const ScoreBatch& score, const RowSource& rows, std::ostream& out);

/// Returns whether the row has a column by which a response can be judged: ground_truth, instruction_id_list or
/// test_cases.
bool names_right_answer(const Json& row);

}  // namespace roll
