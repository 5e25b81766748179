// Large products of float32, by LibTorch's own products and by oneDNN's.
#include "ops/products.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "ops/accumulating_linear.h"
#include "ops/multiplying.h"

namespace roll {

namespace {

double distance(const at::Tensor& found, const at::Tensor& expected) {
  return ((found.to(at::kDouble) - expected).norm() / expected.norm()).item<double>();
}

at::Tensor wide(const at::Tensor& x) {
  return x.to(at::kDouble);
}

}  // namespace

TEST_CASE("products of float32 are those of float64 but for rounding, whoever makes them and however operands lie",
          "[ops]") {
  const bool by_onednn = GENERATE(false, true);
  const test::Multiplying multiplying(false, by_onednn);
  CAPTURE(by_onednn);
  at::manual_seed(1);
  constexpr int64_t kRows = 301, kInputs = 300, kOutputs = 256, kMore = 40;
  const at::Tensor x = at::randn({kRows, kInputs}), w = at::randn({kOutputs, kInputs}), bias = at::randn({kOutputs});
  const at::Tensor d = at::randn({kRows, kOutputs + kMore}).narrow(1, kMore / 2, kOutputs);  // of something wider
  const at::Tensor y = wide(x).matmul(wide(w).t());
  CHECK(distance(linear_product(x, w), y) < 1e-6);
  CHECK(distance(linear_product(x, w, bias), y + wide(bias)) < 1e-6);
  CHECK(distance(linear_product(x, w.t().contiguous().t()), y) < 1e-6);
  const at::Tensor into = at::zeros({kRows, kOutputs + 2 * kMore});
  linear_product_out(into.narrow(1, kMore, kOutputs), x, w, bias);
  CHECK(distance(into.narrow(1, kMore, kOutputs), y + wide(bias)) < 1e-6);
  CHECK(into.narrow(1, 0, kMore).abs().sum().item<float>() == 0);
  CHECK(distance(matrix_product(d, w), wide(d).matmul(wide(w))) < 1e-6);
  CHECK(distance(matrix_product(d.t(), x), wide(d).t().matmul(wide(x))) < 1e-6);
  const at::Tensor sum = at::ones({kOutputs, kInputs});
  add_product(sum, d, x);
  CHECK(distance(sum, wide(d).t().matmul(wide(x)) + 1) < 1e-6);
}

TEST_CASE("gradients that are added piece by piece are whole", "[ops]") {
  const test::Multiplying multiplying(false, true);
  constexpr int64_t kRows = 3, kInputs = 4096, kOutputs = 1000;  // pieces of 256 outputs
  const at::Tensor x = at::arange(kRows * kInputs).remainder(7).to(at::kFloat).view({kRows, kInputs});
  const at::Tensor d = at::arange(kRows * kOutputs).remainder(5).to(at::kFloat).view({kRows, kOutputs});
  const at::Tensor sum = at::ones({kOutputs, kInputs});
  add_product(sum, d, x);
  CHECK(at::equal(wide(sum), wide(d).t().matmul(wide(x)) + 1));
}

}  // namespace roll
