// State that all workers of a domain share: rate limit, cancellation, what has answered, warnings.
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
  /// num_ranks: processes that score the domain, each with such an object of its own; they share limits evenly.
  /// log: for warnings that do not wait for the end of the step; it must outlive this. nullptr: no warnings.
  explicit SharedByWorkers(int64_t num_ranks = 1, Log* log = nullptr) : num_ranks_(num_ranks), log_(log) {}

  /// Cancelled when no more rewards are wanted: waits for servers and programs end.
  Cancellation ending;

  /// The limiter of the domain, made by the first call: all workers give the same limits.
  RateLimiter& limiter(const RateLimits& limits);
  /// A random number in [0, 1), another one in each call and each process.
  double jitter();

  /// Whether this server or program has ever answered: from then on a failure is taken for a passing one, not for a
  /// wrong setting.
  std::atomic<bool>& has_answered(const std::string& who);
  /// Marks all of them as having answered, since another process has had rewards of the domain.
  void note_answers();
  /// Logs the first text that it is given, and no later one.
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
