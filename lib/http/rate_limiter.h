// Rate limiter for API judges and remote rewards: no minute has more requests, or more tokens, than allowed. It
// remembers the requests of the last minute. So a burst may follow a pause, and the limit still holds (a token bucket
// that allows such bursts lets through twice the limit in its first minute).
//
// It has no clock: the caller passes the time, and waits.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "config/keys.h"

namespace roll {

struct RateLimits {
  std::optional<int64_t> requests_per_minute, tokens_per_minute;

  void fields(Keys& v) {
    v("requests_per_minute", requests_per_minute,
      "most requests per minute to the server, over all ranks; null: no limit", within(1, 1'000'000), may_change());
    v("tokens_per_minute", tokens_per_minute,
      "most tokens per minute in prompts and answers together, over all ranks; null: no limit",
      within(1, 1'000'000'000), may_change());
  }
};

/// Thread-safe.
class RateLimiter {
 public:
  explicit RateLimiter(const RateLimits& limits) : limits_(limits) {}

  struct Turn {
    int64_t number = 0;
    double start_s = 0;  // time at which the request may be sent, now or later
  };
  /// Reserves the next request, of `tokens` as far as known. A request that alone exceeds the limit has a minute for
  /// itself.
  Turn take_turn(int64_t tokens, double now_s);
  /// Corrects the number of tokens after the request.
  void settle(int64_t number, int64_t tokens);

 private:
  struct Sent {
    double at_s;
    int64_t tokens;
  };
  double earliest_start_s(int64_t tokens, double now_s) const;

  RateLimits limits_;
  std::mutex mutex_;
  std::deque<Sent> sent_;      // in order of time
  int64_t num_forgotten_ = 0;  // requests removed before sent_[0]
};

}  // namespace roll
