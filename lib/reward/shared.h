// State that all reward workers (threads of RewardPool) of one domain in this process share: the rate limit,
// cancellation, the servers and programs that have answered, and warnings.
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

/// Thread-safe.
class SharedByWorkers {
 public:
  /// `num_ranks`: number of processes that score this domain, each with its own object; rate limits are divided evenly
  /// among them. `log`: for warnings, must outlive this object; nullptr: no warnings.
  explicit SharedByWorkers(int64_t num_ranks = 1, Log* log = nullptr) : num_ranks_(num_ranks), log_(log) {}

  /// Ends waits for servers and pauses between retries. RewardPool cancels it when no more rewards are needed.
  Cancellation ending;

  /// Returns the rate limiter of all workers. The first call makes it, with this process's share of `limits` (at least
  /// 1); later calls ignore `limits`, as all workers have the same.
  RateLimiter& limiter(const RateLimits& limits);
  /// Returns a random number in [0, 1), for pauses between retries; another one in each call and process.
  double jitter();

  /// Returns the flag of a server or program, which its workers set to true once it has answered. From then on, its
  /// failures count as temporary, not as a wrong setting. `service`: the server's address or the program's command. The
  /// reference is valid as long as this object.
  std::atomic<bool>& has_answered(const std::string& service);
  /// Sets the flags of all services for which has_answered() was called, because another process got rewards from them.
  void note_answers();
  /// Logs `text` as a warning in the first call; later calls do nothing.
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
