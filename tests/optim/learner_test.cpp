#include "optim/learner.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/local_ranks.h"
#include "job/join.h"

namespace roll {

namespace {

NamedTensors two_parameters() {
  return {{"layers.0.w", at::ones({2, 2}).requires_grad_()}, {"head.w", at::ones({2}).requires_grad_()}};
}

LearnerOptions options(double lr) {
  return {.schedule = {.type = LrScheduleType::kConstant, .peak_lr = lr}, .max_grad_norm = 0};
}

}  // namespace

TEST_CASE("gradients are summed over micro-batches, so the cut does not matter", "[train]") {
  const auto ranks = make_communicator({.kind = Transport::kSingle});
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
  const auto ranks = make_communicator({.kind = Transport::kSingle});
  const auto parameters = two_parameters();
  Learner learner("test", parameters, options(0.1), *ranks);
  const auto result = learner.update(2, [](int64_t) { return at::Tensor(); });
  CHECK(result.loss == 0);
  CHECK(result.grad_norm == 0);
  CHECK(at::equal(parameters[0].second, at::ones({2, 2})));
}

TEST_CASE("an update whose gradient or loss is not finite is skipped: weights, moments stay, the schedule moves on",
          "[train]") {
  const auto ranks = make_communicator({.kind = Transport::kSingle});
  const auto run = [&](const std::vector<double>& factors) {
    const auto parameters = two_parameters();
    auto linear = options(0.1);
    linear.schedule = {.type = LrScheduleType::kLinear, .peak_lr = 0.1, .warmup_steps = 0, .total_steps = 4};
    Learner learner("actor_train", parameters, linear, *ranks);
    for (const double factor : factors) {
      const at::Tensor& w = parameters[0].second;
      // Factor 0: the loss is 0, its gradient infinite. A NaN in the loss alone has a finite gradient.
      const auto result = learner.update(1, [&](int64_t) {
        if (factor == 0) return (w - w.detach()).sqrt().sum();
        return std::isnan(factor) ? w.sum() + factor : factor * (w * w).sum();
      });
      CHECK(result.skipped == (factor == 0 || std::isnan(factor)));
      CHECK((learner.num_skipped_in_a_row() > 0) == result.skipped);
    }
    return std::tuple(parameters[0].second[0][0].item<float>(), learner.lr());
  };
  const double nan = std::nan("");
  CHECK(run({0}) == std::tuple(1.0F, 0.1 * 3 / 4));
  CHECK(run({nan, 0, nan}) == std::tuple(1.0F, 0.1 * 1 / 4));
  CHECK(std::get<0>(run({0, 2})) == Approx(std::get<0>(run({nan, 2}))));
  CHECK(std::get<0>(run({0, 2})) ==
        Approx(1 - 0.1 * 3 / 4));  // the first moments' own step is 1, as if none was before
}

TEST_CASE("what is not finite on one rank is skipped on all", "[train]") {
  const auto said = test::run_local_ranks(2, [](Communicator& ranks) {
    const auto parameters = two_parameters();
    Learner learner("test", parameters, options(0.1), ranks);
    const auto result = learner.update(1, [&](int64_t) {
      return ranks.rank() == 1 ? parameters[0].second.sum() + std::nan("") : parameters[0].second.sum();
    });
    return fmt::format("{} {}", result.skipped, parameters[0].second[0][0].item<float>());
  });
  for (const auto& text : said) CHECK(text == "true 1");
}

TEST_CASE("frozen parameters stay as they are", "[train]") {
  const auto ranks = make_communicator({.kind = Transport::kSingle});
  const auto parameters = two_parameters();
  auto frozen = options(0.1);
  frozen.frozen_prefixes = {"layers."};
  Learner learner("test", parameters, frozen, *ranks);
  learner.update(1, [&](int64_t) { return parameters[0].second.sum() * parameters[1].second.sum(); });
  CHECK(at::equal(parameters[0].second, at::ones({2, 2})));
  CHECK_FALSE(at::equal(parameters[1].second, at::ones({2})));
  CHECK_FALSE(parameters[0].second.requires_grad());
  frozen.frozen_prefixes = {"layers.", "head."};
  CHECK_THROWS_WITH(Learner("critic", parameters, frozen, *ranks), Catch::Contains("leaves no parameter to train"));
  frozen.frozen_prefixes = {"nothing."};
  CHECK_THROWS_WITH(Learner("critic", parameters, frozen, *ranks),
                    Catch::Contains("no parameter's name starts with it"));
}

TEST_CASE("every update starts from a zero gradient and takes the schedule's next rate", "[train]") {
  const auto ranks = make_communicator({.kind = Transport::kSingle});
  const auto parameters = two_parameters();
  LearnerOptions two = options(0.1);
  two.schedule = {.type = LrScheduleType::kLinear, .peak_lr = 0.1, .warmup_steps = 0, .total_steps = 2};
  Learner learner("test", parameters, two, *ranks);
  learner.keep_gradients(true);
  const auto update = [&](double factor) {
    return learner.update(1, [&](int64_t) { return factor * parameters[0].second.sum(); });
  };
  const UpdateResult first = update(1);
  const NamedTensors kept = learner.kept_gradient();
  const UpdateResult second = update(2);
  CHECK(first.grad_norm == Approx(2));
  CHECK(second.grad_norm == Approx(4));
  CHECK(first.lr == Approx(0.1));
  CHECK(second.lr == Approx(0.05));
  CHECK(at::equal(kept[0].second, at::ones({2, 2})));  // not overwritten by the second update
}

TEST_CASE("micro-batches of bfloat16 parameters add up", "[train]") {
  const auto ranks = make_communicator({.kind = Transport::kSingle});
  const NamedTensors parameters = {{"w", at::ones({2, 2}, at::kBFloat16).requires_grad_()}};
  Learner learner("test", parameters, options(0.1), *ranks);
  // 1 + 1 + ... stays at 256 in bfloat16: each micro-batch is added in float32.
  CHECK(learner.update(300, [&](int64_t) { return parameters[0].second.sum(); }).grad_norm == Approx(600));
}

TEST_CASE("clipping is by the norm over all parameters", "[train]") {
  const auto ranks = make_communicator({.kind = Transport::kSingle});
  const auto moved = [&](double max_grad_norm) {
    const auto parameters = two_parameters();
    LearnerOptions clipped = options(0.1);
    clipped.max_grad_norm = max_grad_norm;
    clipped.adamw.epsilon = 1;  // so that AdamW's step depends on the gradient's size
    Learner learner("test", parameters, clipped, *ranks);
    learner.update(1, [&](int64_t) { return parameters[0].second.sum() * 3; });
    return 1 - parameters[0].second[0][0].item<double>();
  };
  CHECK(moved(0) == Approx(0.1 * 3 / 4));
  CHECK(moved(100) == Approx(0.1 * 3 / 4));
  CHECK(moved(2) == Approx(0.1 * 1 / 2));
}

TEST_CASE("a loss that no parameter has a part in counts as nothing", "[train]") {
  const auto ranks = make_communicator({.kind = Transport::kSingle});
  Learner learner("test", two_parameters(), options(0.1), *ranks);
  CHECK(learner.update(1, [](int64_t) { return at::ones({}); }).grad_norm == 0);
}

TEST_CASE("gradient and loss are summed over the ranks, whose numbers of micro-batches may differ", "[train]") {
  const auto said = test::run_local_ranks(2, [](Communicator& ranks) {
    const auto parameters = two_parameters();
    Learner learner("test", parameters, options(0.1), ranks);
    const auto result = learner.update(1 + ranks.rank(), [&](int64_t) { return parameters[0].second.sum(); });
    return fmt::format("loss {} norm {}", result.loss, result.grad_norm);
  });
  CHECK(said[0] == "loss 12 norm 6");
  CHECK(said[1] == said[0]);
}

}  // namespace roll
