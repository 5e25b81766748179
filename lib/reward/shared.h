// What the workers of one domain have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/cancellation.h"
#include "http/rate_limiter.h"

namespace roll {

class SharedByWorkers {
 public:
  /// num_ranks: processes that score the domain, each with such an object of its own; they share limits evenly.
  explicit SharedByWorkers(int64_t num_ranks = 1) : num_ranks_(num_ranks) {}

  /// Cancelled when no more verdicts are wanted: who waits for one gives up.
  Cancellation ending;

  /// The domain's; made of the limits that are given first, as all of its workers have the same.
  RateLimiter& limiter(const RateLimits& limits);
  /// In [0, 1), another one each time, and in each process.
  double jitter();

 private:
  int64_t num_ranks_;
  std::mutex mutex_;
  std::unique_ptr<RateLimiter> limiter_;
  std::atomic<uint64_t> num_jitters_ = 0;
};

}  // namespace roll
