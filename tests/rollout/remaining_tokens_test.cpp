#include "rollout/remaining_tokens.h"

#include <catch2/catch.hpp>

namespace roll {

TEST_CASE("before a response has ended, all may be as long as they are allowed", "[rollout]") {
  RemainingTokens tokens(4, 4 * 100);
  CHECK(tokens.share_done() == 0);
  tokens.drew(100);
  CHECK(tokens.estimate() == 300);
  CHECK(tokens.share_done() == 0.25);
}

TEST_CASE("open responses go on for as long as one took so far", "[rollout]") {
  RemainingTokens tokens(10, 10 * 100);
  tokens.drew(60);  // four run
  tokens.ended(10, 100);
  tokens.ended(20, 100);
  CHECK(tokens.estimate() == 8 * 30);
  CHECK(tokens.share_done() == 60. / 300);
}

TEST_CASE("the estimate keeps to the limits of those that are open", "[rollout]") {
  RemainingTokens tokens(3, 50 + 50 + 8);
  tokens.drew(100);
  tokens.ended(50, 50);
  tokens.ended(50, 50);
  CHECK(tokens.estimate() == 8);
  tokens.drew(6);
  CHECK(tokens.estimate() == 2);
  tokens.drew(2);
  tokens.ended(8, 8);
  CHECK(tokens.estimate() == 0);
  CHECK(tokens.share_done() == 1);
}

}  // namespace roll
