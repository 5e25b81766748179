// How often a server may be asked: no minute holds more requests, or more tokens, than its owner allows. What was sent
// within the last minute is remembered, so that a pause is made up for by a burst and the limit holds all the same
// (a token bucket that allows such bursts lets through twice the limit in its first minute).
//
// Knows no clock: the caller says what time it is, and waits.
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
      "the server is asked at most so often, over all ranks; null: no limit", within(1, 1'000'000), may_change());
    v("tokens_per_minute", tokens_per_minute,
      "prompts and answers together have at most so many tokens, over all ranks; null: no limit",
      within(1, 1'000'000'000), may_change());
  }
};

/// Any thread.
class RateLimiter {
 public:
  explicit RateLimiter(const RateLimits& limits) : limits_(limits) {}

  struct Turn {
    int64_t number = 0;
    double start_s = 0;  // when the request may be sent; now or later
  };
  /// The next request, of `tokens` as far as is known, is accounted for. One that alone passes the limit has a minute
  /// for itself.
  Turn take_turn(int64_t tokens, double now_s);
  /// What the request took in truth.
  void settle(int64_t number, int64_t tokens);

 private:
  struct Sent {
    double at_s;
    int64_t tokens;
  };
  double earliest_start_s(int64_t tokens, double now_s) const;

  RateLimits limits_;
  std::mutex mutex_;
  std::deque<Sent> sent_;      // in the order of their times
  int64_t num_forgotten_ = 0;  // before sent_[0]
};

}  // namespace roll
