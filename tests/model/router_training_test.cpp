// What trains routers beside the loss, against the published formulas under autograd.
#include "model/router_training.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "dist/local_ranks.h"
#include "dist/single.h"
#include "model/experts.h"
#include "model/init_spec.h"
#include "model/token_layout.h"
#include "model/transformer.h"
#include "model/weights.h"

namespace roll {

namespace {

constexpr int64_t kExperts = 5;
constexpr RoutingRule kSoftmax{.count = kExperts, .chosen = 2, .renormalises = true};
constexpr RoutingRule kSigmoids{.count = kExperts, .chosen = 2, .is_sigmoid = true};
constexpr RoutingRule kOneOfFour{.count = 4, .chosen = 1, .renormalises = true};

/// balance * sum over sequences of T_s / T * N * sum_i f_i P_i + z * mean of logsumexp^2, sequence after sequence.
at::Tensor cost_by_definition(const at::Tensor& logits, const at::Tensor& sequences, RouterCosts costs, int64_t tokens,
                              bool is_sigmoid = false) {
  at::Tensor cost = at::zeros({}, at::kDouble);
  for (int64_t s = 0; s <= sequences.max().item<int64_t>(); ++s) {
    const at::Tensor own = logits.index({sequences.eq(s)});
    const at::Tensor p = is_sigmoid ? at::sigmoid(own) / at::sigmoid(own).sum(1, true) : at::softmax(own, 1);
    const at::Tensor chosen = std::get<1>(at::topk(p.detach(), kSoftmax.chosen, 1));
    const at::Tensor counts = at::bincount(chosen.flatten(), {}, kExperts).to(at::kDouble);
    const double share = static_cast<double>(own.size(0)) / static_cast<double>(tokens);
    cost = cost + costs.balance * share * kExperts * (counts / counts.sum() * p.mean(0)).sum() +
           costs.z / static_cast<double>(tokens) * at::logsumexp(own, {1}).square().sum();
  }
  return cost;
}

}  // namespace

TEST_CASE("routers get the gradient of their costs, each sequence's by its own load, padding none", "[model]") {
  const RouterCosts costs = GENERATE(RouterCosts{0.3, 0}, RouterCosts{0, 0.2}, RouterCosts{0.3, 0.2});
  const at::Tensor sequences = at::tensor({0, 0, 0, -1, 1, 1, 1, 1, 1, -1, 2}, at::kLong);
  const at::Tensor slots = sequences.ge(0).nonzero().squeeze(1);
  const at::Tensor logits = at::randn({11, kExperts}, at::kDouble).requires_grad_(true);
  at::Tensor by_hand = logits.detach().clone().requires_grad_(true);
  const int64_t tokens = 20;  // of the mini-batch, others of which are elsewhere
  const RoutingRule rule = GENERATE(kSoftmax, kSigmoids);
  RouterTraining training({.costs = costs}, /*num_routers=*/1, 1.0 / tokens, /*loss_scale=*/3);
  training.set_layout(slots, sequences.index_select(0, slots), {}, 3, {});
  const Routing routing = route(logits, rule, {}, {}, &training);
  (routing.weights.sum() * 0).backward();
  (3 * cost_by_definition(by_hand, sequences, costs, tokens, rule.is_sigmoid)).backward();
  CHECK(at::allclose(logits.grad(), by_hand.grad()));
  CHECK(logits.grad()[3].abs().sum().item<double>() == 0);
}

TEST_CASE("a token that two sequences begin with counts for both, in costs, gradients and what is measured",
          "[model]") {
  const RouterCosts costs{0.3, 0.2};
  const at::Tensor slots = at::tensor({0, 1, 2, 0, 1, 3, 4}, at::kLong), sequences = at::tensor({0, 0, 0, 1, 1, 1, 1});
  const at::Tensor logits = at::randn({5, kExperts}, at::kDouble).requires_grad_(true);
  at::Tensor by_hand = logits.detach().clone().requires_grad_(true);
  const at::Tensor whole = by_hand.index_select(0, slots);
  RouterTraining training({.costs = costs}, 1, 1.0 / 7, /*loss_scale=*/1);
  training.set_layout(slots, sequences, {}, 2, {});
  (route(logits, kSoftmax, {}, {}, &training).weights.sum() * 0).backward();
  cost_by_definition(whole, sequences, costs, 7).backward();
  CHECK(at::allclose(logits.grad(), by_hand.grad()));
  const std::vector<at::Tensor> sums = training.sums();
  CHECK(sums[0].item<double>() == Approx(cost_by_definition(whole, sequences, {1, 0}, 7).item<double>()));
  CHECK(sums[1].item<double>() == Approx(cost_by_definition(whole, sequences, {0, 1}, 7).item<double>()));
}

TEST_CASE("a bias moves by one step towards even loads of all ranks, if the update was made", "[model]") {
  InitSizes sizes;
  sizes.arch = "glm4_moe", sizes.vocab = 9, sizes.hidden = 16, sizes.layers = 2, sizes.experts = 4;
  const ModelSpec spec = make_spec(sizes, {});
  for (const auto& wrong : test::run_local_ranks(2, [&](Communicator& ranks) -> std::string {
         const Transformer model = Transformer::init(spec, 1);
         const at::Tensor& bias = parameter(model.parameters(), "model.layers.1.mlp.gate.e_score_correction_bias");
         const RouterRule rule{.loads = std::make_shared<ExpertLoads>(0.25)};
         const auto after_update = balancing(model.backbone(), rule, ranks);
         const auto moved = [&](std::vector<double> first, std::vector<double> second, bool was_made) {
           if (ranks.is_first()) rule.loads->add(0, at::tensor(first));  // in two micro-batches
           if (ranks.is_first()) rule.loads->add(0, at::tensor(second));
           after_update(was_made);
           return at::Tensor(bias.clone());
         };
         const at::Tensor skipped = moved({9, 0, 0, 0}, {9, 0, 0, 0}, false);
         const at::Tensor once = moved({0, 4, 1, 3}, {0, 2, 2, 0}, true);  // the mean is 3, the third's load, too
         return at::equal(skipped, at::zeros(4)) && at::equal(once, at::tensor({0.25, -0.25, 0.0, 0.0}).to(at::kFloat))
                    ? ""
                    : "another bias";
       }))
    CHECK(wrong == "");
  CHECK_FALSE(balancing(Transformer::init(spec, 1).backbone(), {}, *make_single_communicator()));
}

TEST_CASE("what is measured of routers is a mean over tokens and layers, counted once", "[model]") {
  const at::Tensor even = at::zeros({4, 4}, at::kDouble), slots = at::tensor({0, 1, 3}, at::kLong);
  at::Tensor sharp = at::zeros({4, 4}, at::kDouble);
  sharp.select(1, 2).fill_(40);
  RouterTraining training({}, /*num_routers=*/2, 1.0 / 3, 1);
  training.set_layout(slots, at::zeros_like(slots), {}, 1, {});
  for (const at::Tensor& logits : {even, sharp, even})  // the last one is the first layer's, recomputed
    route(logits, kOneOfFour, {}, {}, &training, /*number=*/logits.is_same(sharp));
  const std::vector<at::Tensor> sums = training.sums();
  const auto mean_of = [&](size_t i) { return sums[i].item<double>(); };
  CHECK(mean_of(0) == Approx((1 + 4) / 2.0));  // all go to the first of equals, then to the only one
  CHECK(mean_of(1) == Approx((std::pow(std::log(4), 2) + 40 * 40) / 2));
  CHECK(mean_of(2) == Approx(std::log(4) / 2).margin(1e-12));
  CHECK(mean_of(3) == 4);
  CHECK(training.names("actor").size() == 4);
  CHECK(training.names("actor")[0] == "actor/moe/balance_loss@sum");
}

TEST_CASE(
    "of experts that are gone through again it is measured how many the router would not have chosen, and that "
    "they are the sampler's",
    "[model]") {
  at::Tensor logits = at::zeros({4, 4}, at::kDouble);
  logits.select(1, 3).fill_(2), logits.select(1, 1).fill_(1);  // all would go to 3 and 1
  const auto measured = [&](std::vector<int64_t> ends, std::vector<int64_t> sampled) {
    RouterTraining training({}, 1, 1.0 / 3, 1, /*replays=*/true);
    training.set_layout(at::tensor({0, 1, 3}), at::zeros({3}, at::kLong), at::tensor(ends).to(at::kBool), 1, {});
    route(logits, {.count = 4, .chosen = 2}, {}, at::tensor(sampled).to(at::kShort).view({4, 2}), &training);
    CHECK(training.names("actor").at(4) == "actor/moe/replayed_otherwise@sum");
    CHECK(training.names("actor").at(5) == "actor/moe/agreement@sum");
    std::vector<double> shares;
    for (const at::Tensor& sum : training.sums()) shares.push_back(sum.item<double>());
    return std::vector<double>(shares.begin() + 4, shares.end());
  };
  const double third = 1.0 / 3, sixth = third / 2;
  const auto is = [](const std::vector<double>& found, double otherwise, double agreement) {
    CHECK(found[0] == Approx(otherwise));
    CHECK(found[1] == Approx(agreement));
  };
  is(measured({0, 0, 1}, {1, 3, 0, 3, 0, 2, -1, -1}), sixth, 1);  // the last was not gone on from
  is(measured({0, 0, 0}, {1, 3, 0, 3, 0, 2, -1, -1}), sixth, 2 * third);
  is(measured({0, 0, 1}, {1, 3, -1, -1, 0, 2, -1, -1}), 0, 2 * third);
}

}  // namespace roll
