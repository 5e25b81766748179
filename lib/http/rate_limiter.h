// Rate limiter for rewards that ask a server (lib/reward): no period of a minute has more requests, or more tokens,
// than allowed. It remembers the requests of the last minute, so a burst after a pause is possible and the limit still
// holds. (A token bucket that allows such bursts lets through twice the limit in its first minute.)
//
// The limiter only computes times: the caller passes the current time, and itself waits until its request may start.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "config/keys.h"

namespace roll {

/// Configuration keys of the limits.
struct RateLimits {
  std::optional<int64_t> requests_per_minute, tokens_per_minute;  // unset: no limit

  void fields(Keys& v) {
    v("requests_per_minute", requests_per_minute,
      "most requests per minute to the server, over all ranks; null: no limit", within(1, 1'000'000), may_change());
    v("tokens_per_minute", tokens_per_minute,
      "most tokens per minute in prompts and answers together, over all ranks; null: no limit",
      within(1, 1'000'000'000), may_change());
  }
};

/// Plans when requests may start. Thread-safe.
class RateLimiter {
 public:
  explicit RateLimiter(const RateLimits& limits) : limits_(limits) {}

  /// A planned request.
  struct Turn {
    int64_t number = 0;  // for settle()
    double start_s = 0;  // time at which the caller may send the request; at least now_s
  };
  /// Plans the next request, not before those planned earlier. `tokens`: expected tokens of question and answer.
  /// `now_s`: current time in seconds, from any clock that never goes back. A request that alone exceeds a limit is a
  /// minute apart from all others.
  Turn take_turn(int64_t tokens, double now_s);
  /// Replaces the expected tokens of a planned request by the true number, once its answer has come. `number`:
  /// Turn::number.
  void settle(int64_t number, int64_t tokens);

 private:
  struct Sent {
    double at_s;  // Turn::start_s
    int64_t tokens;
  };
  double earliest_start_s(int64_t tokens, double now_s) const;

  RateLimits limits_;
  std::mutex mutex_;
  std::deque<Sent> sent_;      // planned requests, in order of time
  int64_t num_forgotten_ = 0;  // requests removed before sent_[0]
};

}  // namespace roll
