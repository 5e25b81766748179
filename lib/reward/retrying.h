// Retries failed rewards after growing pauses; make_patient_rule() (reward.h) uses it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "reward/reward.h"

namespace roll {

/// Returns the pause before retry number `retry` (from 1): 0.5, 1, 2, ... at most 30 s, times a factor from 0.5 to 1
/// given by `jitter` (0..1), so that workers do not retry in step. It is at least retry_after_s, the server's request,
/// which counts up to 60 s.
double retry_wait_s(int64_t retry, std::optional<double> retry_after_s, double jitter);

struct RetryPlan {
  int64_t max_retries = 0;
  std::function<bool(double seconds)> wait;  // sleeps; false: cancelled, stop retrying
  std::function<double()> jitter;
};

/// Wraps `rule` with retries of every failure except `unjudged`, which would repeat. The detail of a retried result
/// holds the number of retries: {"retries": n}.
std::unique_ptr<RewardFunction> with_retries(std::unique_ptr<RewardFunction> rule, RetryPlan plan);

}  // namespace roll
