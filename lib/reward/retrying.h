// Retries failed rewards after growing pauses; make_rule_with_retries() (reward.h) uses it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "reward/reward.h"

namespace roll {

/// Returns the pause in seconds before retry number `retry` (1, 2, 3, ...): 0.5, 1, 2, ..., at most 30, times 0.5 + 0.5
/// jitter, and at least min(retry_after_s, 60). `retry_after_s`: pause that the server asked for. `jitter`: a random
/// number in [0, 1), so that workers do not retry at the same moment.
double retry_wait_s(int64_t retry, std::optional<double> retry_after_s, double jitter);

struct RetryPlan {
  int64_t max_retries = 0;                   // per response; 0: none
  std::function<bool(double seconds)> wait;  // sleeps; returns false if cancelled, which ends the retries
  std::function<double()> jitter;            // returns a random number in [0, 1)
};

/// Wraps `rule`: asks it again about responses with a failed reward (reward.h), except of kind kUnjudged, because that
/// failure would repeat. The detail of a retried result has the number of its retries: {"retries": n}.
std::unique_ptr<RewardFunction> with_retries(std::unique_ptr<RewardFunction> rule, RetryPlan plan);

}  // namespace roll
