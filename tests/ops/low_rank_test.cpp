#include "ops/low_rank.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

namespace roll {

namespace {

constexpr int64_t kRows = 1'100, kInputs = 512, kOutputs = 384, kRank = 6;  // three blocks of rows, the last shorter

struct Case {
  at::Tensor weight = at::randn({kOutputs, kInputs}, at::kDouble), x = at::randn({kRows, kInputs}, at::kDouble),
             d_y = at::randn({kRows, kOutputs}, at::kDouble);
  LowRank low_rank = {
      .a = at::randn({kRank, kInputs}, at::kDouble), .b = at::randn({kOutputs, kRank}, at::kDouble), .scale = 0.5};

  /// Makes leaves of x in `narrow` and of the adapter in `wide`.
  Case as(at::ScalarType narrow, at::ScalarType wide) const {
    Case found = *this;
    for (at::Tensor Case::*tensor : {&Case::weight, &Case::x, &Case::d_y}) found.*tensor = (this->*tensor).to(narrow);
    found.x = found.x.detach().clone().requires_grad_();
    found.low_rank.a = low_rank.a.to(wide).detach().clone().requires_grad_();
    found.low_rank.b = low_rank.b.to(wide).detach().clone().requires_grad_();
    return found;
  }
};

/// Returns the same by LibTorch's operators.
at::Tensor plain(const Case& c) {
  at::Tensor in = c.x;
  if (c.low_rank.token_keys.defined())
    in = in * kept_columns(c.low_rank.token_keys, kInputs, c.low_rank.dropout).to(in.scalar_type()) /
         (1 - c.low_rank.dropout.rate);
  return c.x.mm(c.weight.t()) + c.low_rank.scale * in.mm(c.low_rank.a.t()).mm(c.low_rank.b.t());
}

/// Distance relative to the largest element of `right`.
double largest_error(const at::Tensor& found, const at::Tensor& right) {
  return ((found.to(at::kDouble) - right).abs().max() / right.abs().max()).item<double>();
}

}  // namespace

TEST_CASE("a low-rank product over several blocks of rows has the value and gradients of plain operators", "[lora]") {
  at::manual_seed(3);
  const bool drops = GENERATE(false, true), is_sum = GENERATE(false, true);
  const auto [narrow, wide, most] = GENERATE(table<at::ScalarType, at::ScalarType, double>(
      {{at::kDouble, at::kDouble, 1e-13}, {at::kFloat, at::kFloat, 3e-6}, {at::kBFloat16, at::kFloat, 2e-2}}));
  CAPTURE(drops, is_sum, narrow);
  Case start;
  if (drops) {
    start.low_rank.dropout = {.rate = 0.25, .product = 3};
    start.low_rank.token_keys = dropout_keys(at::arange(kRows, at::kLong), {0, kRows}, /*seed=*/1, /*step=*/2);
  }
  const Case own = start.as(narrow, wide), oracle = own.as(at::kDouble, at::kDouble);
  const at::Tensor y = is_sum ? add_low_rank(own.x.mm(own.weight.t()), own.x, own.low_rank)
                              : adapted_linear(own.x, own.weight, own.low_rank);
  CHECK(y.scalar_type() == narrow);
  CHECK(largest_error(y.detach(), plain(oracle).detach()) < most);
  y.backward(own.d_y, /*retain_graph=*/true);
  plain(oracle).backward(oracle.d_y);
  CHECK(largest_error(own.x.grad(), oracle.x.grad()) < most);
  CHECK(largest_error(own.low_rank.a.grad(), oracle.low_rank.a.grad()) < most);
  CHECK(largest_error(own.low_rank.b.grad(), oracle.low_rank.b.grad()) < most);
  // Backward adds to gradients that exist, in place.
  const void* const kept = own.low_rank.a.grad().data_ptr();
  y.backward(own.d_y);
  CHECK(own.low_rank.a.grad().data_ptr() == kept);
  CHECK(largest_error(own.low_rank.a.grad(), 2 * oracle.low_rank.a.grad()) < most);
  CHECK(largest_error(own.low_rank.b.grad(), 2 * oracle.low_rank.b.grad()) < most);
  CHECK(largest_error(own.x.grad(), 2 * oracle.x.grad()) < most);
}

}  // namespace roll
