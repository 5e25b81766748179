#include "loss/terms.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "loss/roll/loss.h"
#include "tensors.h"

namespace roll {

using testing::list;

namespace {

bool near(const at::Tensor& a, const at::Tensor& b) {
  return at::allclose(a, b, 1e-6, 1e-7);
}

}  // namespace

TEST_CASE("the KL estimates are functions of log_probs - base", "[loss]") {
  const at::Tensor d = list({0.5, -1, 0});
  CHECK(near(kl_term(d, KlPenalty::kKl), list({0.5, -1, 0})));
  CHECK(near(kl_term(d, KlPenalty::kAbs), list({0.5, 1, 0})));
  CHECK(near(kl_term(d, KlPenalty::kMse), list({0.125, 0.5, 0})));
  CHECK(near(kl_term(d, KlPenalty::kK3), list({std::exp(-0.5) - 0.5, std::exp(1) - 2, 0})));
  CHECK(near(kl_term(list({-20}), KlPenalty::kK3), list({10})));
}

TEST_CASE("k3 keeps its digits where policy and reference hardly differ", "[loss]") {
  CHECK(kl_term(list({1e-3}), KlPenalty::kK3).item<double>() == Approx(4.998333749e-7).epsilon(2e-4));
}

TEST_CASE("exponents that overflow count as 80, and others keep every bit, value and gradient", "[loss]") {
  const auto value_and_gradient = [](const at::Tensor& at, const auto& f) {
    const at::Tensor x = at.clone().requires_grad_();
    const at::Tensor y = f(x);
    y.sum().backward();
    return std::pair(y.detach(), x.grad());
  };
  const auto plain_k3 = [](const at::Tensor& d) { return at::clamp(at::expm1(-d) + d, -10, 10); };
  const auto k3 = [](const at::Tensor& d) { return kl_term(d, KlPenalty::kK3); };
  const at::Tensor usual = at::linspace(-80, 80, 4001, at::kFloat);
  CHECK(at::equal(token_ratio(usual), usual.exp()));
  const auto [ours, our_gradient] = value_and_gradient(usual, k3);
  const auto [plain, plain_gradient] = value_and_gradient(usual, plain_k3);
  CHECK(at::equal(ours, plain));
  CHECK(at::equal(our_gradient, plain_gradient));
  CHECK(at::equal(ours, approx_kl(usual, at::zeros_like(usual), "k3")));

  const at::Tensor extreme = list({-1e4, -89, 89, 1e4});
  const auto [ratio, ratio_gradient] = value_and_gradient(extreme, token_ratio);
  const double largest = std::exp(80.);
  CHECK(near(ratio / largest, list({0, 0, 1, 1})));
  CHECK(near(ratio_gradient, list({0, 0, 0, 0})));
  const auto [kl, kl_gradient] = value_and_gradient(extreme, k3);
  CHECK(at::equal(kl, list({10, 10, 10, 10})));
  CHECK(at::equal(kl_gradient, list({0, 0, 0, 0})));
  const auto plugin_k3 = [](const at::Tensor& d) { return approx_kl(d, at::zeros_like(d), "k3"); };
  CHECK(at::equal(value_and_gradient(extreme, plugin_k3).second, list({0, 0, 0, 0})));
  const at::Tensor of_sequence = sequence_ratio(list({300, 100, 0}), list({1, 1, 0}), {0, 3});
  CHECK(near(of_sequence / largest, list({1, 1, 1})));
}

TEST_CASE("a student that is its teacher is no distance from it, whatever the distance", "[loss]") {
  const at::Tensor logits = at::tensor({3.0F, -1.0F, 0.5F, 9.0F, 0.0F, -20.0F}).view({2, 3}).requires_grad_(true);
  for (const Named<KdObjective>& objective : enum_names(KdObjective{})) {
    CAPTURE(objective.name);
    const at::Tensor far =
        divergence_term(logits, at::log_softmax(logits.detach().flip(1), -1), {.kd_objective = objective.value});
    CHECK(far.min().item<float>() > 0.01);
    const at::Tensor none =
        divergence_term(logits, at::log_softmax(logits.detach(), -1), {.kd_objective = objective.value});
    CHECK(none.abs().max().item<float>() < 1e-6);
    none.sum().backward();
    CHECK(logits.grad().abs().max().item<float>() < 1e-5);
    logits.mutable_grad() = at::Tensor();
  }
}

TEST_CASE("the policy term takes the smaller side, and says when that is the clipped one", "[loss]") {
  const at::Tensor ratio = list({1.5, 1.5, 0.5, 0.5, 1.1}), advantages = list({1, -1, 1, -1, 2});
  const PolicyTerm term = policy_term(ratio, advantages, {0.2, 0.3});
  CHECK(near(term.loss, list({-1.3, 1.5, -0.5, 0.8, -2.2})));
  CHECK(at::equal(term.clipped, list({1, 0, 0, 1, 0})));
}

TEST_CASE("dual clip bounds the loss of negative advantages only", "[loss]") {
  const at::Tensor advantages = list({-1, -1, 1});
  CHECK(near(dual_clip(list({5, 1, -5}), advantages, 1.4), list({1.4, 1, -5})));
}

TEST_CASE("all tokens of a sequence share its sequence ratio", "[loss]") {
  const at::Tensor d = list({0.1, 0.3, 9, 0.5, 7, 8});
  const at::Tensor ratio = sequence_ratio(d, list({1, 1, 0, 1, 0, 0}), {0, 3, 5, 6});
  const double first = std::exp(0.2), second = std::exp(0.5);
  CHECK(near(ratio, list({first, first, first, second, second, 1})));
}

TEST_CASE("the value loss takes the larger side", "[loss]") {
  const at::Tensor values = list({2, 0.1}), old = list({1, 0}), returns = list({0, 1});
  CHECK(near(value_term(values, old, returns, std::nullopt).loss, list({2, 0.405})));
  const ValueTerm clipped = value_term(values, old, returns, 0.05);
  CHECK(near(clipped.loss, list({2, 0.5 * 0.95 * 0.95})));
  CHECK(at::equal(clipped.clipped, list({0, 1})));
}

TEST_CASE("no value inside the clip range counts as clipped by rounding", "[loss]") {
  const at::Tensor old = at::linspace(-0.1, 0.1, 1001, at::kFloat);
  const at::Tensor values = -0.731 * old;  // of the other sign, so that values - old is inexact
  const ValueTerm term = value_term(values, old, at::full({1001}, 0.7), 0.2);
  CHECK(term.clipped.sum().item<double>() == 0);
}

}  // namespace roll
