// Which experts a router chooses, in training and in the CPU's sampler, against choices by hand.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "model/experts.h"
#include "ops/choose_experts.h"

namespace roll {

TEST_CASE("the most likely experts are chosen, of equally likely ones the first, and weighed", "[model]") {
  const at::Tensor logits = at::tensor({1.0, 3.0, 2.0, 3.0, -1.0, 0.0}).view({1, 6}).to(at::kFloat);
  const at::Tensor probs = at::softmax(logits, 1)[0];
  const at::Tensor order = at::tensor({1, 3, 2}, at::kLong), kept = probs.index_select(0, order);
  for (const bool renormalises : {false, true}) {
    const at::Tensor expected = renormalises ? kept / kept.sum() : kept;
    const RoutingRule rule{.count = 6, .chosen = 3, .renormalises = renormalises};
    const Routing found = route(logits, rule);
    CHECK(at::equal(found.experts[0], order));
    CHECK(at::allclose(found.weights[0], expected));
    int32_t experts[3];
    at::Tensor weights = at::empty({3});
    choose_experts(logits.const_data_ptr<float>(), rule, nullptr, experts, weights.mutable_data_ptr<float>());
    CHECK((experts[0] == 1 && experts[1] == 3 && experts[2] == 2));
    CHECK(at::allclose(weights, expected));
  }
}

TEST_CASE("of sigmoids the best of the best groups are chosen by what a bias makes of them, weighed without it",
          "[model]") {
  // Two groups of three: by their two best the second is ahead, but for the bias of the first one's last expert.
  const at::Tensor scores = at::tensor({0.9, 0.1, 0.2, 0.6, 0.3, 0.5}).view({1, 6}).to(at::kFloat);
  const at::Tensor logits = at::logit(scores), none = at::zeros({6}, at::kFloat);
  const at::Tensor of_last = at::tensor({0.0, 0.0, 0.4, 0.0, 0.0, 0.0}).to(at::kFloat);
  const auto check = [&](const RoutingRule& rule, const at::Tensor& bias, std::vector<int64_t> experts) {
    at::Tensor expected = scores[0].index_select(0, at::tensor(experts, at::kLong));
    if (rule.renormalises) expected = expected / expected.sum();
    expected = expected * rule.scale;
    const Routing found = route(logits, rule, bias);
    CHECK(at::equal(found.experts[0], at::tensor(experts, at::kLong)));
    CHECK(at::allclose(found.weights[0], expected));
    std::vector<int32_t> numbers(experts.size());
    at::Tensor weights = at::empty({rule.chosen});
    choose_experts(logits.const_data_ptr<float>(), rule, bias.const_data_ptr<float>(), numbers.data(),
                   weights.mutable_data_ptr<float>());
    CHECK(std::vector<int64_t>(numbers.begin(), numbers.end()) == experts);
    CHECK(at::allclose(weights, expected));
  };
  RoutingRule rule{.count = 6, .chosen = 2, .is_sigmoid = true, .scale = 2.5};
  check(rule, none, {0, 3});
  check(rule, of_last, {0, 2});  // as good as 3, and before it
  rule.groups = 2, rule.chosen_groups = 1;
  check(rule, none, {0, 2});
  rule.renormalises = true;
  check(rule, at::tensor({-0.3, 0.0, 0.0, 0.0, 0.0, 0.0}).to(at::kFloat), {3, 5});
}

TEST_CASE("the CPU's sampler and training choose alike, whatever the rule", "[model]") {
  const bool is_sigmoid = GENERATE(false, true), has_bias = GENERATE(false, true);
  const int64_t groups = GENERATE(1, 3, 6);
  const RoutingRule rule{.count = 12,
                         .chosen = 4,
                         .is_sigmoid = is_sigmoid,
                         .renormalises = has_bias,
                         .groups = groups,
                         .chosen_groups = (groups + 1) / 2,
                         .ranks_by_largest = GENERATE(false, true),
                         .scale = 1.5};
  const at::Tensor logits = at::randn({200, 12}), bias = has_bias ? 0.2 * at::randn({12}) : at::Tensor();
  const Routing found = route(logits, rule, bias);
  at::Tensor experts = at::empty({200, 4}, at::kInt), weights = at::empty({200, 4});
  for (int64_t i = 0; i < 200; ++i)
    choose_experts(logits[i].const_data_ptr<float>(), rule, has_bias ? bias.const_data_ptr<float>() : nullptr,
                   experts[i].mutable_data_ptr<int32_t>(), weights[i].mutable_data_ptr<float>());
  CHECK(at::equal(experts.to(at::kLong), found.experts));
  CHECK(at::allclose(weights, found.weights));
}

TEST_CASE("experts that were chosen before are gone through again, weighed by the logits at hand", "[model]") {
  const at::Tensor logits = at::randn({3, 6}, at::kDouble).requires_grad_(true), probs = at::softmax(logits, 1);
  const at::Tensor replayed = at::tensor({5, 0, -1, -1, 2, 3}, at::kShort).view({3, 2});
  const RoutingRule rule{.count = 6, .chosen = 2, .renormalises = true};
  const Routing found = route(logits, rule, {}, replayed), own = route(logits, rule);
  CHECK(at::equal(found.experts, at::stack({at::tensor({5, 0}), own.experts[1], at::tensor({2, 3})})));
  const at::Tensor kept = probs.gather(1, found.experts);
  CHECK(at::allclose(found.weights, kept / kept.sum(1, true)));
  CHECK(found.weights.requires_grad());
}

}  // namespace roll
