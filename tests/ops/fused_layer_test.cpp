// The texts of the layer's kernels, forward and backward, on fibres of the CPU, against LibTorch's operators in float64
// and their autograd, on the same numbers.
#include "ops/fused_layer.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <functional>

#include "cuda/warps.h"
#include "ops/simulated_layer_launcher.h"

namespace roll {

namespace {

using Tensors = std::vector<at::Tensor>;
using FusedOp = std::function<Tensors(const Tensors& inputs)>;

at::Tensor some_of(at::IntArrayRef shape, at::ScalarType dtype) {
  return at::randn(shape).to(dtype);
}

/// float32: 1e-5 of the largest; bfloat16: its last place.
void check_near(const at::Tensor& found, const at::Tensor& exact) {
  REQUIRE(found.sizes() == exact.sizes());
  const at::Tensor error = (found.to(at::kDouble) - exact).abs();
  const double small = 1e-5 * exact.abs().max().item<double>();
  const bool is_narrow = found.scalar_type() == at::kBFloat16;
  const at::Tensor place = at::exp2(exact.abs().clamp_min(1e-30).log2().floor() - 7);
  const at::Tensor allowed = is_narrow ? place + small : at::full_like(exact, small);
  INFO("worst " << (error / allowed).max().item<double>() << " of what is allowed");
  CHECK(error.le(allowed).all().item<bool>());  // not true of NaN
}

/// Results, then gradients by the inputs of the sum of the results times what `slopes` holds of each.
Tensors results_of(const FusedOp& op, const Tensors& inputs, const Tensors& slopes) {
  const Tensors y = op(inputs);
  at::Tensor sum;
  for (size_t i = 0; i < y.size(); ++i) {
    const at::Tensor part = (y[i] * slopes[i].to(y[i].scalar_type())).to(at::kDouble).sum();
    sum = sum.defined() ? sum + part : part;
  }
  sum.backward();
  Tensors found = y;
  for (const at::Tensor& input : inputs) found.push_back(input.grad());
  return found;
}

/// `fused` in `dtype` against `plain` in float64; `keeps`: the inputs have float32 gradients already, of ones.
void check_fused(const FusedOp& fused, const FusedOp& plain, const Tensors& inputs, const Tensors& slopes,
                 bool keeps = false) {
  Tensors own, wide;
  for (const at::Tensor& x : inputs) {
    own.push_back(x.detach().clone().requires_grad_());
    wide.push_back(x.detach().to(at::kDouble).requires_grad_());
    if (keeps) own.back().mutable_grad() = at::ones(x.sizes());
  }
  const Tensors found = results_of(fused, own, slopes), exact = results_of(plain, wide, slopes);
  for (size_t i = 0; i < found.size(); ++i) {
    INFO("result " << i);
    const bool is_gradient = i >= slopes.size();
    check_near(found[i], exact[i] + (keeps && is_gradient ? 1.0 : 0.0));
  }
}

at::Tensor rounded_to(const at::Tensor& x, at::ScalarType dtype) {
  return x + (x.detach().to(dtype).to(at::kDouble) - x.detach());  // with the gradient of what is not rounded
}

at::Tensor plain_norm(const at::Tensor& x, const at::Tensor& weight) {
  return x * at::rsqrt(x.square().mean(-1, true) + 1e-6) * weight;
}

at::Tensor plain_turn(const at::Tensor& x, const Rotation& rotation) {
  const at::Tensor cos = rotation.cos.index_select(0, rotation.rows).unsqueeze(1).to(at::kDouble);
  const at::Tensor sin = rotation.sin.index_select(0, rotation.rows).unsqueeze(1).to(at::kDouble);
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
}

}  // namespace

TEST_CASE("fused norms are float64's, with and without a branch to add", "[ops]") {
  at::manual_seed(1);
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const int64_t width = GENERATE(8, 136, 1032), rows = GENERATE(1, 37);
  const bool has_branch = GENERATE(false, true), keeps = GENERATE(false, true);
  CAPTURE(dtype, width, rows, has_branch, keeps);
  const FusedOp fused = [&](const Tensors& in) {
    const NormedSum y = fused_norm(*launcher, in[0], has_branch ? in[2] : at::Tensor(), in[1], 1e-6);
    return Tensors{y.sum, y.normed};
  };
  const FusedOp plain = [&](const Tensors& in) {
    const at::Tensor sum = has_branch ? rounded_to(in[0] + in[2], dtype) : in[0] + 0;
    return Tensors{sum, plain_norm(sum, in[1])};
  };
  Tensors inputs = {some_of({rows, width}, dtype), some_of({width}, dtype)};
  if (has_branch) inputs.push_back(some_of({rows, width}, dtype));
  if (keeps) {  // only weights have gradients that are kept
    const at::Tensor x = inputs[0], branch = has_branch ? inputs[2] : at::Tensor();
    const auto with = [&](const FusedOp& op, const Tensors& in) {
      const at::ScalarType type = in[0].scalar_type();
      return op(has_branch ? Tensors{x.to(type), in[0], branch.to(type)} : Tensors{x.to(type), in[0]});
    };
    return check_fused([&](const Tensors& in) { return with(fused, in); },
                       [&](const Tensors& in) { return with(plain, in); }, {inputs[1]},
                       {some_of({rows, width}, dtype), some_of({rows, width}, dtype)}, true);
  }
  check_fused(fused, plain, inputs, {some_of({rows, width}, dtype), some_of({rows, width}, dtype)});
}

TEST_CASE("a norm whose sum nobody reads has the gradient of the norm alone", "[ops]") {
  at::manual_seed(1);
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  check_fused([&](const Tensors& in) { return Tensors{fused_norm(*launcher, in[0], {}, in[1], 1e-6).normed}; },
              [&](const Tensors& in) { return Tensors{plain_norm(in[0], in[1])}; },
              {some_of({5, 16}, at::kFloat), some_of({16}, at::kFloat)}, {some_of({5, 16}, at::kFloat)});
}

TEST_CASE("fused heads are normed and turned as in float64", "[ops]") {
  at::manual_seed(1);
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const auto shape = GENERATE(HeadShape{3, 1, 16}, HeadShape{4, 2, 64}, HeadShape{2, 2, 96}, HeadShape{2, 1, 256});
  const int64_t tokens = GENERATE(1, 29);
  const bool has_norms = GENERATE(false, true);
  const auto [heads, kv_heads, dim] = shape;
  CAPTURE(dtype, heads, kv_heads, dim, tokens, has_norms);
  const Rotation rotation = make_rotation(at::logspace(0, -2, dim / 2), at::arange(31), at::randint(31, {tokens}));
  const FusedOp fused = [&](const Tensors& in) {
    const at::Tensor qkv = in[0] * 1;  // may be overwritten
    const RotatedHeads y = fused_heads(*launcher, qkv, shape, has_norms ? in[1] : at::Tensor(),
                                       has_norms ? in[2] : at::Tensor(), 1e-6, rotation);
    return Tensors{y.q, y.k, y.v};
  };
  const FusedOp plain = [&, h = heads, kv = kv_heads](const Tensors& in) {
    const auto parts = in[0].view({tokens, -1, shape.head_dim}).split_with_sizes({h, kv, kv}, 1);
    const auto own = [&](size_t i) { return has_norms ? plain_norm(parts[i], in[1 + i]) : parts[i]; };
    return Tensors{plain_turn(own(0), rotation), plain_turn(own(1), rotation), parts[2] + 0};
  };
  Tensors inputs = {some_of({tokens, (heads + 2 * kv_heads) * dim}, dtype)};
  if (has_norms) inputs.insert(inputs.end(), {some_of({dim}, dtype), some_of({dim}, dtype)});
  check_fused(fused, plain, inputs,
              {some_of({tokens, heads, dim}, dtype), some_of({tokens, kv_heads, dim}, dtype),
               some_of({tokens, kv_heads, dim}, dtype)});
}

TEST_CASE("fused gates are float64's, and finite", "[ops]") {
  at::manual_seed(1);
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const int64_t inner = GENERATE(8, 1032), rows = GENERATE(1, 5);
  const FusedOp fused = [&](const Tensors& in) { return Tensors{fused_gate(*launcher, in[0])}; };
  const FusedOp plain = [&](const Tensors& in) {
    const auto halves = in[0].chunk(2, 1);
    return Tensors{at::silu(halves[0]) * halves[1]};
  };
  check_fused(fused, plain, {some_of({rows, 2 * inner}, dtype) * 3}, {some_of({rows, inner}, dtype)});
  const at::Tensor large = at::tensor({-1e30f, -200.0f, 200.0f, 1e30f, 1.0f, 1.0f, 1.0f, 1.0f}).view({1, 8});
  const at::Tensor leaf = large.clone().requires_grad_(), y = fused_gate(*launcher, leaf);
  CHECK(at::allclose(y, at::tensor({0.0f, 0.0f, 200.0f, 1e30f}).view({1, 4}), 1e-6, 1e-6));
  y.sum().backward();
  CHECK(leaf.grad().isfinite().all().item<bool>());
}

TEST_CASE("backward keeps the launcher that forward was given", "[ops]") {
  auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  const std::weak_ptr<const LayerLauncher> kept = launcher;
  const at::Tensor leaf = at::ones({2, 16}).requires_grad_();
  at::Tensor y = fused_gate(*launcher, leaf);
  launcher.reset();
  REQUIRE_FALSE(kept.expired());
  y.sum().backward();
  CHECK(leaf.grad().defined());
  y.reset();
  CHECK(kept.expired());
}

TEST_CASE("gradients of rows that are read many times are added up in float32, each time to the same bits", "[ops]") {
  at::manual_seed(1);
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const bool keeps = GENERATE(false, true);
  const int64_t width = GENERATE(8, 1032);
  const at::Tensor ids = at::tensor({5, 2, 5, 0, 5, 6, 2}, at::kLong);
  check_fused([&](const Tensors& in) { return Tensors{fused_rows(*launcher, in[0], ids)}; },
              [&](const Tensors& in) { return Tensors{in[0].index_select(0, ids)}; }, {some_of({7, width}, dtype)},
              {some_of({7, width}, dtype)}, keeps);
  const at::Tensor weight = some_of({3, 8}, at::kBFloat16).requires_grad_(), often = at::ones({5000}, at::kLong);
  fused_rows(*launcher, weight, often).backward(at::ones({5000, 8}, at::kBFloat16));
  CHECK(weight.grad()[1][0].item<float>() == Approx(5000).epsilon(1.0 / 256));
  CHECK(weight.grad()[0].abs().sum().item<float>() == 0);
}

TEST_CASE("kernels are not given what their vectors do not divide", "[ops]") {
  const at::Tensor wide = at::empty({64}), narrow = at::empty({64}, at::kBFloat16);
  CHECK(takes_layer(wide, {4, 8}, {wide}));
  CHECK_FALSE(takes_layer(wide, {4, 6}, {wide}));
  CHECK(takes_layer(narrow, {8}, {narrow}));
  CHECK_FALSE(takes_layer(narrow, {12}, {narrow}));
  CHECK_FALSE(takes_layer(narrow, {8}, {narrow.slice(0, 4)}));
  CHECK_FALSE(takes_layer(at::empty({64}, at::kHalf), {8}, {}));
  at::Tensor weight = narrow.slice(0, 0, 8).detach().requires_grad_();
  weight.mutable_grad() = wide.slice(0, 4, 12);
  CHECK_FALSE(takes_layer(narrow, {8}, {weight}));
}

TEST_CASE("column sums add every row once, to what is there or not", "[ops]") {
  const int64_t rows = GENERATE(1, 63, 64, 200), width = GENERATE(4, 36, 64);
  const at::Tensor parts = at::randint(-8, 9, {rows, width + 4}).to(at::kFloat);
  const bool adds = GENERATE(false, true);
  const at::Tensor out = at::full({width}, 5.0f);
  test::run_kernel(SumParts{.parts = parts.const_data_ptr<float>() + 4,
                            .out = out.mutable_data_ptr<float>(),
                            .rows = rows,
                            .width = width,
                            .stride = width + 4,
                            .adds = adds});
  CHECK(at::equal(out, parts.slice(1, 4).sum(0) + (adds ? 5 : 0)));
}

}  // namespace roll
