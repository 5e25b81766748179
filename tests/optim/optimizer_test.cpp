#include "optim/optimizer.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "golden_maths.h"
#include "optim/schedule.h"

namespace roll {

namespace {

Json golden(const char* name) {
  return read_json(std::string(ROLL_SOURCE_DIR "/tests/golden/train/") + name);
}

at::Tensor tensor_of(const Json& values, const Json& shape, at::ScalarType dtype = at::kFloat) {
  const auto numbers = values.get<std::vector<double>>();
  return at::tensor(numbers, at::kDouble).to(dtype).view(shape.get<std::vector<int64_t>>()).clone();
}

NamedTensors start_parameters(const Json& g, at::ScalarType dtype = at::kFloat) {
  NamedTensors parameters;
  for (const auto& [name, shape] : g["shapes"].items())
    parameters.emplace_back(name, tensor_of(g["start"][name], shape, dtype).requires_grad_());
  return parameters;
}

FlatOptimizer make_optimizer(const Json& g, const NamedTensors& parameters) {
  return FlatOptimizer(
      parameters,
      {.beta1 = g["beta1"], .beta2 = g["beta2"], .epsilon = g["epsilon"], .weight_decay = g["weight_decay"]});
}

}  // namespace

TEST_CASE("learning-rate schedules equal those of transformers", "[train]") {
  const Json g = golden("schedules.json");
  for (const Json& c : g["cases"]) {
    const LrSchedule schedule{.type = named<LrScheduleType>(c["type"].get<std::string>()),
                              .peak_lr = c["peak_lr"],
                              .warmup_steps = c["warmup_steps"],
                              .total_steps = c["total_steps"],
                              .args = testing::config_from<LrScheduleArgs>(c["args"])};
    CHECK_NOTHROW(schedule.check_args());
    for (size_t step = 0; step < c["rates"].size(); ++step) {
      INFO(c["type"] << " " << c["args"].dump() << " warmup " << c["warmup_steps"] << " step " << step);
      CHECK(schedule.at(static_cast<int64_t>(step)) ==
            Approx(c["rates"][step].get<double>()).epsilon(1e-12).margin(1e-18));
    }
  }
}

TEST_CASE("FlatOptimizer with clipping and per-shape decay equals torch.optim.AdamW", "[train]") {
  const Json g = golden("adamw.json");
  const NamedTensors parameters = start_parameters(g);
  FlatOptimizer optimizer = make_optimizer(g, parameters);
  for (const Json& step : g["steps"]) {
    optimizer.zero_grad();
    // Through autograd, and in two backwards, so that the in-place accumulation is what is tested.
    for (int half = 0; half < 2; ++half) {
      at::Tensor loss = at::zeros({});
      for (const auto& [name, p] : parameters)
        loss = loss + (p * tensor_of(step["gradients"][name], g["shapes"][name])).sum() * (half == 0 ? 0.25 : 0.75);
      loss.backward();
    }
    const double norm = std::sqrt(optimizer.squared_gradient().item<double>());
    CHECK(norm == Approx(step["norm"].get<double>()).epsilon(1e-6));
    optimizer.step(step["lr"], norm, g["max_norm"]);
    for (const auto& [name, p] : parameters) {
      INFO(name);
      CHECK(at::allclose(p, tensor_of(step["weights"][name], g["shapes"][name]), 1e-5, 1e-7));
    }
  }
}

TEST_CASE("bfloat16 parameters follow a float32 master copy", "[train]") {
  const Json g = golden("adamw.json");
  const NamedTensors parameters = start_parameters(g, at::kBFloat16);
  FlatOptimizer optimizer = make_optimizer(g, parameters);
  for (int i = 0; i < 2; ++i) {
    parameters[1].second.sum().backward();
  }
  CHECK(std::sqrt(optimizer.squared_gradient().item<double>()) ==
        Approx(2 * std::sqrt(static_cast<double>(parameters[1].second.numel()))));
  // 1000 updates that are each below a bfloat16 ulp must add up.
  const at::Tensor before = parameters[1].second.to(at::kFloat).clone();
  for (int i = 0; i < 1000; ++i) {
    optimizer.zero_grad();
    parameters[1].second.sum().backward();
    optimizer.step(1e-4, std::sqrt(optimizer.squared_gradient().item<double>()), 0);
  }
  const at::Tensor moved = before - parameters[1].second.to(at::kFloat);
  CHECK(moved.min().item<double>() > 0.07);
}

TEST_CASE("an optimizer that was put away goes on as if it had not been", "[train]") {
  const Json g = golden("adamw.json");
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const NamedTensors stayed = start_parameters(g, dtype), moved = start_parameters(g, dtype);
  FlatOptimizer a = make_optimizer(g, stayed), b = make_optimizer(g, moved);
  for (int step = 0; step < 3; ++step) {
    for (auto [optimizer, parameters] : {std::pair{&a, &stayed}, std::pair{&b, &moved}}) {
      optimizer->zero_grad();
      for (const auto& [name, p] : *parameters) (p * p).sum().backward();
      optimizer->step(1e-2, std::sqrt(optimizer->squared_gradient().item<double>()), 1.0);
    }
    b.offload(/*keeps_parameters=*/step == 0);
    CHECK_FALSE(moved[0].second.grad().defined());
    b.reload();
  }
  for (size_t i = 0; i < stayed.size(); ++i) CHECK(at::equal(stayed[i].second, moved[i].second));
}

TEST_CASE("the flat gradient is the concatenation of the named ones", "[train]") {
  const Json g = golden("adamw.json");
  const NamedTensors parameters = start_parameters(g);
  FlatOptimizer optimizer = make_optimizer(g, parameters);
  optimizer.zero_grad();
  for (const auto& [name, p] : parameters) (p * p).sum().backward();
  double squares = 0;
  for (int64_t i = 0; i < std::ssize(optimizer.names()); ++i) {
    const at::Tensor gradient = optimizer.named_gradient(i);
    for (const auto& [name, p] : parameters)
      if (name == optimizer.names()[i]) CHECK(at::allclose(gradient, 2 * p.detach()));
    squares += gradient.square().sum().item<double>();
  }
  CHECK(std::sqrt(optimizer.squared_gradient().item<double>()) == Approx(std::sqrt(squares)));
  CHECK(optimizer.num_parameters() == 5 + 12 + 4 + 6);
}

}  // namespace roll
