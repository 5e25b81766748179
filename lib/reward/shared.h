// What the workers of one domain have in common.
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
  /// log: where workers warn at once, before a step tells of its rewards; it outlives them. nullptr: nowhere.
  explicit SharedByWorkers(int64_t num_ranks = 1, Log* log = nullptr) : num_ranks_(num_ranks), log_(log) {}

  /// Cancelled when no more verdicts are wanted: who waits for one gives up.
  Cancellation ending;

  /// The domain's; made of the limits that are given first, as all of its workers have the same.
  RateLimiter& limiter(const RateLimits& limits);
  /// In [0, 1), another one each time, and in each process.
  double jitter();

  /// Whether this server or program has answered a worker: from then on its failures pass, and are no wrong settings.
  std::atomic<bool>& has_answered(const std::string& who);
  /// All that the workers ask have answered another process: a verdict has come of each.
  void note_answers();
  /// The first text is said, and no later one.
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
