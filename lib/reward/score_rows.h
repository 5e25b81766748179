// JSON lines with responses -> JSON lines with rewards, in the same order: what `roll score` does.
#pragma once

#include <iosfwd>
#include <string>

#include "reward/reward_pool.h"

namespace roll {

struct ScoredRows {
  int64_t num_rows = 0;
  RewardFaults faults;
};

/// Reads {"response", "ground_truth"[, "prompt", "tag", "domain", "finish_reason", "num_response_tokens"]} per line and
/// writes {"reward", "detail"}, a reward of null where nobody could judge. A ground_truth is a string, or an object,
/// which is its JSON; a row with instruction_id_list or test_cases needs none. `origin` names the input. UserError
/// "origin:line: ..." for a missing or mistyped field.
ScoredRows score_rows(RewardPool& pool, std::istream& in, const std::string& origin, std::ostream& out);

}  // namespace roll
