#include "http/rate_limiter.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace roll {

namespace {

/// The most that any minute holds, by windows that begin with each entry.
int64_t fullest_minute(const std::vector<std::pair<double, int64_t>>& sent) {
  int64_t most = 0;
  for (const auto& [begin_s, first] : sent) {
    int64_t sum = 0;
    for (const auto& [at_s, amount] : sent)
      if (at_s >= begin_s && at_s < begin_s + 60) sum += amount;
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

TEST_CASE("requests are sent at once up to the limit, and the next one a minute later", "[http]") {
  RateLimiter limiter({.requests_per_minute = 2});
  CHECK(limiter.take_turn(5, 100).start_s == 100);
  CHECK(limiter.take_turn(5, 110).start_s == 110);
  CHECK(limiter.take_turn(5, 111).start_s == 161);
  CHECK(limiter.take_turn(5, 112).start_s == 171);
  CHECK(limiter.take_turn(5, 300).start_s == 300);
}

TEST_CASE("a request without limits is sent at once", "[http]") {
  RateLimiter limiter({});
  for (int i = 0; i < 1000; ++i) CHECK(limiter.take_turn(1'000'000'000, 1).start_s == 1);
}

TEST_CASE("tokens count as they turn out", "[http]") {
  RateLimiter limiter({.tokens_per_minute = 100});
  const auto first = limiter.take_turn(80, 0);
  CHECK(first.start_s == 0);
  limiter.settle(first.number, 30);
  CHECK(limiter.take_turn(70, 1).start_s == 1);
  CHECK(limiter.take_turn(30, 2).start_s == 61);
  CHECK(limiter.take_turn(500, 3).start_s == 122);  // more than a minute has: it gets one for itself
  limiter.settle(first.number, 1);                  // long forgotten
  CHECK(limiter.take_turn(1, 1000).start_s == 1000);
  limiter.settle(first.number, 1);
}

TEST_CASE("no minute holds more than the limits, whoever asks when", "[http]") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20; ++round) {
    const int64_t most_requests = 1 + static_cast<int64_t>(random() % 20),
                  most_tokens = 100 + static_cast<int64_t>(random() % 900);
    RateLimiter limiter({.requests_per_minute = most_requests, .tokens_per_minute = most_tokens});
    std::vector<std::pair<double, int64_t>> requests, tokens;
    double now_s = 0;
    for (int i = 0; i < 200; ++i) {
      now_s += static_cast<double>(random() % 50) / 10;
      const int64_t amount = 1 + static_cast<int64_t>(random() % 100);
      const double start_s = limiter.take_turn(amount, now_s).start_s;
      REQUIRE(start_s >= now_s);
      requests.emplace_back(start_s, 1), tokens.emplace_back(start_s, amount);
    }
    CHECK(fullest_minute(requests) <= most_requests);
    CHECK(fullest_minute(tokens) <= most_tokens);
  }
}

}  // namespace roll
