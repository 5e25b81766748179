// ZeRO-1: optimizers that hold a slice each against one that holds all.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "optim/allocated.h"

namespace roll {

namespace {

/// Buckets of several matrices and of vectors; sizes that neither 2 nor 3 slices divide.
NamedTensors sliced_parameters(at::ScalarType dtype) {
  NamedTensors parameters;
  int64_t k = 0;
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{251, 301}, {7}, {300, 301}, {13, 5}, {3}}) {
    const int64_t numel = c10::multiply_integers(shape);
    const at::Tensor values = at::sin(at::arange(numel, at::kFloat) * (1.3 + 0.1 * static_cast<double>(k)));
    parameters.emplace_back(fmt::format("p{}", k++), values.to(dtype).view(shape).clone().requires_grad_());
  }
  return parameters;
}

at::Tensor gradient_of(const at::Tensor& parameter, int64_t step) {
  return (parameter.detach().to(at::kFloat) * (2.7 + static_cast<double>(step))).cos().to(parameter.scalar_type());
}

/// As autograd does.
void add_to_gradient(at::Tensor& parameter, const at::Tensor& gradient) {
  at::Tensor& there = parameter.mutable_grad();
  there.defined() ? there.add_(gradient) : there = gradient;
}

struct Sliced {
  NamedTensors parameters;
  FlatOptimizer optimizer;
  Sliced(at::ScalarType dtype, int64_t num_slices, int64_t own)
      : parameters(sliced_parameters(dtype)),
        optimizer(parameters, {.weight_decay = 0.1}, {.num_slices = num_slices, .index = own}) {}
  void add_gradient(int64_t step) {
    optimizer.zero_grad();
    for (auto& [name, p] : parameters) add_to_gradient(p, gradient_of(p, step));
  }
};

/// What an all-gather of the slices does.
void exchange(std::vector<std::unique_ptr<Sliced>>& ranks) {
  for (auto& to : ranks)
    for (auto& from : ranks)
      for (int64_t b = 0; b < std::ssize(from->optimizer.layout().buckets); ++b) {
        const at::Tensor slice = from->optimizer.parameter_slice(b);
        const int64_t at = slice.storage_offset() - from->optimizer.parameters(b).storage_offset();
        to->optimizer.parameters(b).narrow(0, at, slice.numel()).copy_(slice);
      }
}

}  // namespace

TEST_CASE("slices that step on their own and are exchanged are the whole step, bit for bit", "[train]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const int64_t num_slices = GENERATE(2, 3);
  const at::NoGradGuard no_grad;
  Sliced whole(dtype, 1, 0);
  std::vector<std::unique_ptr<Sliced>> ranks;
  for (int64_t own = 0; own < num_slices; ++own) ranks.push_back(std::make_unique<Sliced>(dtype, num_slices, own));
  REQUIRE(whole.optimizer.layout().buckets.size() == 4);  // so that slices are not of one run
  for (int64_t step = 0; step < 3; ++step) {
    whole.add_gradient(step);
    double squares = 0;
    for (auto& rank : ranks) rank->add_gradient(step), squares += rank->optimizer.squared_gradient().item<double>();
    CHECK(squares == Approx(whole.optimizer.squared_gradient().item<double>()));
    const double norm = std::sqrt(squares);
    whole.optimizer.step(1e-2, norm, 1.0);
    for (auto& rank : ranks) rank->optimizer.step(1e-2, norm, 1.0);
    exchange(ranks);
  }
  for (auto& rank : ranks)
    for (size_t i = 0; i < whole.parameters.size(); ++i)
      CHECK(at::equal(rank->parameters[i].second, whole.parameters[i].second));
}

TEST_CASE("a step writes this rank's slices and nothing else", "[train]") {
  const at::NoGradGuard no_grad;
  Sliced one(at::kFloat, 2, 1);
  one.add_gradient(0);
  std::vector<at::Tensor> before;
  for (int64_t b = 0; b < std::ssize(one.optimizer.layout().buckets); ++b)
    before.push_back(one.optimizer.parameters(b).clone());
  one.optimizer.step(1e-2, 1, 0);
  for (size_t b = 0; b < before.size(); ++b) {
    const at::Tensor after = one.optimizer.parameters(static_cast<int64_t>(b));
    const int64_t half = after.numel() / 2;
    CHECK(at::equal(after.narrow(0, 0, half), before[b].narrow(0, 0, half)));
    CHECK_FALSE(at::equal(after.narrow(0, half, half), before[b].narrow(0, half, half)));
  }
}

TEST_CASE("what n ranks hold copies of counts once in the norm", "[train]") {
  const at::NoGradGuard no_grad;
  const NamedTensors parameters = {{"cut", at::zeros({4}).requires_grad_()},
                                   {"copied", at::zeros({4}).requires_grad_()}};
  const auto copies = [](const std::string& name) { return name == "copied" ? 4 : 1; };
  FlatOptimizer optimizer(parameters, {}, {.num_slices = 1, .index = 0, .copies = copies});
  for (auto& [name, p] : parameters) at::Tensor(p).mutable_grad().fill_(name == "copied" ? 6 : 1);
  CHECK(optimizer.squared_gradient().item<double>() == 4 * 1 + 4 * 36 / 4.0);
}

TEST_CASE("the norm of many small gradients is added in float64", "[train]") {
  const NamedTensors parameters = {{"w", at::zeros({1 << 20}).requires_grad_()}};
  FlatOptimizer optimizer(parameters, {});
  parameters[0].second.mutable_grad().fill_(0.1);
  CHECK(optimizer.squared_gradient().item<double>() == Approx((1 << 20) * std::pow(0.1f, 2.0)).epsilon(1e-11));
}

TEST_CASE("the optimizer's state takes 1 / slices of the memory, as the allocator counts it", "[train]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const int64_t num_slices = GENERATE(1, 2, 3);
  const test::Allocated allocated;
  const NamedTensors parameters = sliced_parameters(dtype);
  FlatOptimizer optimizer(parameters, {}, {.num_slices = num_slices, .index = num_slices - 1});
  const int64_t total = optimizer.layout().total, element = dtype == at::kFloat ? 4 : 2;
  const int64_t states = dtype == at::kFloat ? 8 : 10;  // moments, and the low bits of bfloat16's masters
  const int64_t parameters_and_gradients = (element + 4) * total;
  const int64_t expected = states * total / num_slices;
  CHECK(allocated.live() == parameters_and_gradients + expected);
  CHECK(optimizer.state_bytes() == expected);
  const int64_t padding = total - optimizer.num_parameters();
  CHECK((padding >= 0 && padding < 9 * num_slices * std::ssize(optimizer.layout().buckets)));
  optimizer.zero_grad();
  optimizer.step(1e-3, 1, 1);
  CHECK(allocated.live() == parameters_and_gradients + expected);  // nothing comes with the first step
}

}  // namespace roll
