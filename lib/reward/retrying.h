// Retries a reward that could not be had, after a growing pause.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "reward/reward.h"

namespace roll {

/// How long to wait before retry number `retry` (from 1): 0.5, 1, 2, ... seconds, at most 30, of which `jitter` (0..1)
/// leaves between half and all, so that workers who failed together do not come back together. What the server asks for
/// is the least, but no more than a minute.
double retry_wait_s(int64_t retry, std::optional<double> retry_after_s, double jitter);

struct RetryPlan {
  int64_t max_retries = 0;
  std::function<bool(double seconds)> wait;  // false: cancelled, so no more retries
  std::function<double()> jitter;
};

/// `rule` with retries of every failure but `unjudged`, which would come again. A result that needed retries, or failed
/// in spite of them, says how many in its detail: {"retries": n}.
std::unique_ptr<RewardFunction> with_retries(std::unique_ptr<RewardFunction> rule, RetryPlan plan);

}  // namespace roll
