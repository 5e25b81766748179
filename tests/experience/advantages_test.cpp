#include "experience/advantages.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "experience/rewards.h"
#include "tensors.h"

namespace roll {

using testing::list;

namespace {

/// Prompt of two, response of three; then prompt of one, response of one.
Experience two_sequences(bool truncated) {
  Experience e = make_experience({{{1, 1}, {2, 2, 2}, 0, 0, 1, truncated}, {{1}, {2}, 1, 0, 0, false}});
  e.token_rewards = list({9, 0, 0, 1, 9, 0.5, 9});  // a 9 stands where nobody may look
  e.values = list({9, 0.5, 0.25, 0.75, 2, 1, 9});
  return e;
}

}  // namespace

TEST_CASE("GAE by hand: only response tokens, nothing after the end, nothing across sequences", "[experience]") {
  const AdvantagesAndReturns result = gae(two_sequences(true), {.gamma = 1, .lambd = 0.5});
  // deltas: 1 - 0.75 = 0.25; 0.75 - 0.25 = 0.5; 0.25 - 0.5 = -0.25; and 0.5 - 1 = -0.5
  CHECK(at::equal(result.advantages, list({0, 0.0625, 0.625, 0.25, 0, -0.5, 0})));
  CHECK(at::equal(result.returns, list({0, 0.5625, 0.875, 1, 0, 0.5, 0})));
}

TEST_CASE("a truncated response ends in the critic's value when asked to", "[experience]") {
  const AdvantagesAndReturns result = gae(two_sequences(true), {.gamma = 0.5, .lambd = 0, .bootstrap_truncated = true});
  CHECK(at::equal(result.advantages, list({0, -0.375, 0.125, 1.25, 0, -0.5, 0})));
  CHECK(at::equal(gae(two_sequences(false), {.gamma = 0.5, .lambd = 0, .bootstrap_truncated = true}).advantages,
                  gae(two_sequences(true), {.gamma = 0.5, .lambd = 0}).advantages));
}

TEST_CASE("discounted returns by hand", "[experience]") {
  const AdvantagesAndReturns result = discounted_returns(two_sequences(false), {.gamma = 0.5});
  CHECK(at::equal(result.advantages, list({0, 0.25, 0.5, 1, 0, 0.5, 0})));
  CHECK(at::equal(result.returns, result.advantages));
}

TEST_CASE("the reward sits on the last response token, the KL penalty on every one", "[experience]") {
  Experience e = two_sequences(false);
  const at::Tensor kl = list({9, 1, 2, 3, 9, 4, 9});
  CHECK(at::equal(make_token_rewards(e, {5, -1}, {}, 0), list({0, 0, 0, 5, 0, -1, 0})));
  CHECK(at::equal(make_token_rewards(e, {5, -1}, kl, 0.5), list({0, -0.5, -1, 3.5, 0, -3, 0})));
  const Experience empty = make_experience({{{1, 1}, {}, 0, 0, 1, false}});
  CHECK(at::equal(make_token_rewards(empty, {7}, {}, 0), at::zeros({2})));
}

TEST_CASE("advantages need tensors that fit", "[experience]") {
  Experience e = two_sequences(false);
  e.values = at::Tensor();
  CHECK_THROWS_AS(gae(e, {}), Bug);
  e.values = at::zeros({3});
  CHECK_THROWS_AS(gae(e, {}), Bug);
}

}  // namespace roll
