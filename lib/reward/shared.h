// State shared by all reward workers of a domain in this process: rate limit, cancellation, which servers or programs
// have answered, warnings.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/log.h"
#include "http/rate_limiter.h"
#include "process/cancellation.h"

namespace roll {

class SharedByWorkers {
 public:
  /// `num_ranks`: processes that score the domain, each with its own object; they share limits evenly. `log`: for
  /// immediate warnings, must outlive this; nullptr: no warnings.
  explicit SharedByWorkers(int64_t num_ranks = 1, Log* log = nullptr) : num_ranks_(num_ranks), log_(log) {}

  /// Cancelled when no more rewards are wanted: ends waits for servers and pauses between retries.
  Cancellation ending;

  /// Returns the domain's limiter. The first call makes it; all workers pass the same limits.
  RateLimiter& limiter(const RateLimits& limits);
  /// Returns a random number in [0, 1), different in each call and process.
  double jitter();

  /// Returns a flag: this server or program has answered before. Later failures count as temporary, not as a wrong
  /// setting.
  std::atomic<bool>& has_answered(const std::string& service);
  /// Sets all these flags, because another process got rewards of the domain.
  void note_answers();
  /// Logs the first text it gets, and no later one.
  void warn_once(const std::string& text);

 private:
  int64_t num_ranks_;
  Log* log_;
  std::mutex mutex_;
  std::unique_ptr<RateLimiter> limiter_;
  std::atomic<uint64_t> num_jitters_ = 0;
  std::map<std::string, std::atomic<bool>> has_answered_;
  std::atomic<bool> has_warned_ = false;
};

}  // namespace roll
