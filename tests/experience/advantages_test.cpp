#include "experience/advantages.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "experience/rewards.h"
#include "sample.h"
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

TEST_CASE("the critic's targets have a lambda of their own", "[experience]") {
  const ExperienceConfig config{.gamma = 1, .lambd = 0.5, .lambd_critic = 1};
  const AdvantagesAndReturns result = gae(two_sequences(true), config);
  CHECK(at::equal(result.advantages, gae(two_sequences(true), {.gamma = 1, .lambd = 0.5}).advantages));
  CHECK(at::equal(result.returns, list({0, 1, 1, 1, 0, 0.5, 0})));  // what the rewards sum up to
}

TEST_CASE("lambda of the advantages follows the length of the response, and never falls below 0", "[experience]") {
  // 1 - 1 / (2/3 x 3 tokens) = 0.5; 1 - 1 / (2/3 x 1 token) would be -0.5
  const ExperienceConfig config{.gamma = 1, .lambd = 0.125, .lambd_critic = 0.5, .lambd_alpha = 2. / 3};
  const AdvantagesAndReturns result = gae(two_sequences(true), config);
  const AdvantagesAndReturns fixed = gae(two_sequences(true), {.gamma = 1, .lambd = 0.5});
  CHECK(at::allclose(result.advantages, fixed.advantages, 0, 1e-7));
  CHECK(at::equal(result.returns, fixed.returns));
  Experience two_tokens = make_experience({{{1}, {2, 2}, 0, 0, 1, false}});
  two_tokens.token_rewards = list({0, 1, 0});
  two_tokens.values = list({0.25, 0.75, 0});
  CHECK(at::equal(gae(two_tokens, {.gamma = 1, .lambd_alpha = 0.25}).advantages, list({0.5, 0.25, 0})));
}

namespace {

/// Groups of three responses (returns 1, 3 and 8; lengths 1, 1 and 2) and of two (4 and 4), and one that nobody judged.
Experience five_responses() {
  const auto sample = [](int64_t group, int64_t length, bool is_judged = true) {
    return Sample{.prompt_ids = {1},
                  .response_ids = std::vector<int64_t>(length, 2),
                  .group_index = group,
                  .is_judged = is_judged};
  };
  Experience e =
      make_experience({sample(0, 1), sample(0, 1), sample(0, 2), sample(1, 1), sample(1, 1), sample(0, 1, false)});
  e.token_rewards = list({1, 9, 3, 9, 2, 6, 9, 4, 9, 4, 9, 500, 9});
  e.masks["final_response_mask"] = e.response_mask();
  return e;
}

}  // namespace

TEST_CASE("a response less the mean of the others", "[experience]") {
  const AdvantagesAndReturns result = leave_one_out(Part(five_responses()), {});
  CHECK(at::equal(result.advantages, list({-4.5, 0, -1.5, 0, 6, 6, 0, 0, 0, 0, 0, 0, 0})));
  CHECK(at::equal(result.returns, result.advantages));
  Experience alone = make_experience({{{1}, {2, 2}, 0, 0, 1, false}});
  alone.token_rewards = list({0, 3, 0});
  CHECK(at::equal(leave_one_out(Part(alone), {}).advantages, at::zeros({3})));
}

TEST_CASE("a response less the length-weighted mean of its group", "[experience]") {
  // (1 x 1 + 1 x 3 + 2 x 8) / 4 = 5
  CHECK(at::equal(length_weighted_baseline(Part(five_responses()), {}).advantages,
                  list({-4, 0, -2, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0})));
}

TEST_CASE("a response less the mean of its group, more where groups that agree carry loss", "[experience]") {
  // 5 responses carry loss, 3 of them in the group that does not agree
  const double alpha = 5. / 3;
  Experience e = five_responses();
  CHECK(at::allclose(group_policy_gradient(Part(e), {}).advantages,
                     list({-3, 0, -1, 0, 4, 4, 0, 0, 0, 0, 0, 0, 0}) * alpha));
  e.masks["final_response_mask"] = e.response_mask().clone();
  e.final_response_mask().slice(0, 7).zero_();  // the second group carries none
  CHECK(at::equal(group_policy_gradient(Part(e), {}).advantages, list({-3, 0, -1, 0, 4, 4, 0, 0, 0, 0, 0, 0, 0})));
  e.token_rewards.slice(0, 0, 7).zero_();
  CHECK(at::equal(group_policy_gradient(Part(e), {}).advantages, at::zeros({13})));
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
