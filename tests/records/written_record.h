// A record of a response, as it stands in a rollout file.
#pragma once

#include "records/rollout_record.h"

namespace roll::test {

inline RolloutRecord written_record(int64_t group, int64_t sample) {
  return {.step = 3,
          .domain = "math_rule",
          .prompt_id = "p7",
          .group_index = group,
          .sample_index = sample,
          .prompt = "1+1=",
          .response = "2\n",
          .prompt_ids = {5, 6},
          .response_ids = {7, 8, 9},
          .log_probs = {-0.1f, -1e-7f, -12.345678f},
          .finish_reason = "stop",
          .score = 1,
          .reward = 1.0 / 3,
          .reward_detail = {{"rule", "number"}},
          .ground_truth = "2",
          .tag = "t"};
}

}  // namespace roll::test
