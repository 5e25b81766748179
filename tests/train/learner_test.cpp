#include "train/learner.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

namespace {

NamedTensors two_parameters() {
  return {{"layers.0.w", at::ones({2, 2}).requires_grad_()}, {"head.w", at::ones({2}).requires_grad_()}};
}

LearnerOptions options(double lr) {
  return {.schedule = {.type = "constant", .peak_lr = lr}, .max_grad_norm = 0};
}

}  // namespace

TEST_CASE("gradients are summed over micro-batches, so the cut does not matter", "[train]") {
  const auto ranks = make_communicator({.kind = "single"});
  const auto run = [&](int64_t num_micro_batches) {
    const auto parameters = two_parameters();
    Learner learner("test", parameters, options(0.1), *ranks);
    const auto result = learner.update(num_micro_batches, [&](int64_t) {
      return (parameters[0].second * parameters[0].second).sum() / static_cast<double>(num_micro_batches);
    });
    return std::tuple(result.loss, result.grad_norm, parameters[0].second[0][0].item<float>());
  };
  CHECK(run(1) == run(4));
  CHECK(std::get<1>(run(2)) == Approx(4.0));
}

TEST_CASE("an update without a valid micro-batch leaves the weights alone", "[train]") {
  const auto ranks = make_communicator({.kind = "single"});
  const auto parameters = two_parameters();
  Learner learner("test", parameters, options(0.1), *ranks);
  const auto result = learner.update(2, [](int64_t) { return at::Tensor(); });
  CHECK(result.loss == 0);
  CHECK(result.grad_norm == 0);
  CHECK(at::equal(parameters[0].second, at::ones({2, 2})));
}

TEST_CASE("a gradient that is not finite stops the run before the weights are touched", "[train]") {
  const auto ranks = make_communicator({.kind = "single"});
  const auto parameters = two_parameters();
  Learner learner("actor_train", parameters, options(0.1), *ranks);
  CHECK_THROWS_WITH(learner.update(1, [&](int64_t) { return (parameters[0].second - 1).sqrt().sum(); }),
                    Catch::Contains("actor_train: update 1: the gradient norm is"));
  CHECK(at::equal(parameters[0].second, at::ones({2, 2})));
}

TEST_CASE("frozen parameters stay as they are", "[train]") {
  const auto ranks = make_communicator({.kind = "single"});
  const auto parameters = two_parameters();
  auto frozen = options(0.1);
  frozen.frozen_prefixes = {"layers."};
  Learner learner("test", parameters, frozen, *ranks);
  learner.update(1, [&](int64_t) { return parameters[0].second.sum() * parameters[1].second.sum(); });
  CHECK(at::equal(parameters[0].second, at::ones({2, 2})));
  CHECK_FALSE(at::equal(parameters[1].second, at::ones({2})));
  frozen.frozen_prefixes = {"nothing."};
  CHECK_THROWS_WITH(Learner("critic", parameters, frozen, *ranks), Catch::Contains("no parameter's name starts so"));
}

}  // namespace roll
