#include "ops/accumulating_linear.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

namespace roll {

namespace {

struct LinearInputs {
  at::Tensor x = at::arange(15, at::kFloat).view({5, 3}).div(8).requires_grad_();
  at::Tensor weight = at::arange(6, at::kFloat).view({2, 3}).sub(2).requires_grad_();
  at::Tensor bias = at::tensor({0.5f, -1.0f}).requires_grad_();
};

/// Gradients of sum(y * (1, 2, 3, ...)).
void backward(const at::Tensor& y) {
  (y * at::arange(1, y.numel() + 1, at::kFloat).view(y.sizes())).sum().backward();
}

}  // namespace

TEST_CASE("a linear layer and its gradients equal LibTorch's, with and without a gradient to add to", "[ops]") {
  const bool keeps_gradient = GENERATE(true, false), has_bias = GENERATE(true, false);
  LinearInputs ours, plain;
  if (keeps_gradient)
    for (LinearInputs* inputs : {&ours, &plain}) inputs->weight.mutable_grad() = at::full({2, 3}, 0.25f);
  const at::Tensor before = keeps_gradient ? ours.weight.grad() : at::Tensor();
  const at::Tensor y = accumulating_linear(ours.x, ours.weight, has_bias ? ours.bias : at::Tensor());
  const at::Tensor expected = at::linear(plain.x, plain.weight, has_bias ? plain.bias : at::Tensor());
  CHECK(at::equal(y, expected));
  backward(y);
  backward(expected);
  CHECK(at::allclose(ours.x.grad(), plain.x.grad()));
  CHECK(at::allclose(ours.weight.grad(), plain.weight.grad()));
  if (has_bias) CHECK(at::allclose(ours.bias.grad(), plain.bias.grad()));
  if (keeps_gradient) CHECK(ours.weight.grad().data_ptr() == before.data_ptr());
}

TEST_CASE("a frozen weight gets no gradient", "[ops]") {
  LinearInputs inputs;
  inputs.weight.set_requires_grad(false);
  inputs.weight.mutable_grad() = at::zeros({2, 3});
  backward(accumulating_linear(inputs.x, inputs.weight));
  CHECK(inputs.weight.grad().abs().sum().item<float>() == 0);
  CHECK(inputs.x.grad().abs().sum().item<float>() > 0);
}

}  // namespace roll
