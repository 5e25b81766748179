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

  /// Returns the flag that says whether a server or program has ever answered; at first false. `service`: the server's
  /// address or the program's command. The worker that gets a usable answer sets the flag to true. Workers read it:
  /// failures of a service that has answered are temporary, others show a wrong setting. The reference is valid as long
  /// as this object.
  std::atomic<bool>& answered_flag(const std::string& service);
  /// Sets all flags that answered_flag() has returned to true. Called if any process got rewards of this domain.
  void mark_services_answered();
  /// Logs `text` as a warning in the first call. Later calls do nothing, even with another text.
  void warn_once(const std::string& text);

 private:
  int64_t num_ranks_;
  Log* log_;
  std::mutex mutex_;
  std::unique_ptr<RateLimiter> limiter_;
  std::atomic<uint64_t> num_jitters_ = 0;
  std::map<std::string, std::atomic<bool>> answered_flags_;  // by service
  std::atomic<bool> has_warned_ = false;
};

}  // namespace roll
