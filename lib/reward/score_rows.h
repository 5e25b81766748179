// Rows with responses -> JSON lines with rewards, in the same order: what `roll score` does.
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

/// Scores queries; results in their order.
using ScoreBatch = std::function<std::vector<RewardResult>(std::vector<RewardQuery>)>;

/// Reads {"response", "ground_truth"[, "prompt", "messages", "tag", "domain", "finish_reason", "num_response_tokens"]}
/// of each row and writes {"reward", "detail"}, a reward of null where nobody could judge. Columns are read as a run
/// reads those of its data (data/columns.h); a row with instruction_id_list or test_cases needs no ground_truth.
/// UserError "file:line: ..." for a missing or mistyped field.
ScoredRows score_rows(const ScoreBatch& score, const RowSource& rows, std::ostream& out);

/// Whether the row says what is right as score_rows() reads it.
bool names_right_answer(const Json& row);

}  // namespace roll
