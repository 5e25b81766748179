#include "ops/layer_ops.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "ops/fake_device.h"
#include "ops/recompute.h"
#include "ops/row_ops.h"
#include "ops/simd.h"

namespace roll {

namespace {

at::Tensor random(at::IntArrayRef shape, at::ScalarType dtype) {
  return at::randn(shape, at::TensorOptions().dtype(dtype)).requires_grad_(true);
}

/// Gradients of sum(y * weights) by the inputs, which start without any.
std::vector<at::Tensor> gradients(const at::Tensor& y, const std::vector<at::Tensor>& inputs) {
  (y * at::linspace(-1, 1, y.numel(), y.options()).reshape(y.sizes())).sum().backward();
  std::vector<at::Tensor> found;
  for (const at::Tensor& input : inputs) {
    found.push_back(input.grad().clone());
    input.mutable_grad() = at::Tensor();
  }
  return found;
}

/// y and all gradients agree with those of the plain operators.
void check_like(const at::Tensor& ours, const at::Tensor& plain, const std::vector<at::Tensor>& inputs) {
  const double tolerance = ours.scalar_type() == at::kDouble ? 1e-6 : 1e-4;  // rotary tables are float32
  CHECK(at::allclose(ours, plain, tolerance, tolerance * 0.1));
  const auto a = gradients(ours, inputs), b = gradients(plain, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    INFO("input " << i);
    CHECK(at::allclose(a[i], b[i], tolerance, tolerance * 0.1 * std::max(1.0, b[i].abs().max().item<double>())));
  }
}

}  // namespace

TEST_CASE("fast_exp is exp to 2e-7 relative, and stays finite", "[ops]") {
  double worst = 0;
  for (int i = -86999; i <= 87999; ++i) {
    const float x = static_cast<float>(i) * 1e-3f;
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(fast_exp(x) - exact) / exact);
  }
  CHECK(worst < 2e-7);
  CHECK(fast_exp(0.0f) == 1.0f);
  CHECK(fast_exp(-1e30f) < 1e-37f);
  CHECK(std::isfinite(fast_exp(1e30f)));
}

TEST_CASE("rms_norm equals the plain operators, forward and backward", "[ops]") {
  const auto dtype = GENERATE(at::kFloat, at::kDouble);
  const int64_t width = GENERATE(2, 10, 33, 128), rows = GENERATE(1, 7, 300);
  const at::Tensor x = random({rows, width}, dtype), w = random({width}, dtype);
  const at::Tensor plain = x * at::rsqrt(x.pow(2).mean(-1, true) + 1e-5) * w;
  check_like(rms_norm(x, w, 1e-5), plain, {x, w});
}

TEST_CASE("rms_norm works on heads and on rows that are not contiguous", "[ops]") {
  const at::Tensor x = random({6, 4, 5}, at::kDouble), w = random({4}, at::kDouble);
  const at::Tensor view = x.transpose(1, 2);
  check_like(rms_norm(view, w, 1e-6), view * at::rsqrt(view.pow(2).mean(-1, true) + 1e-6) * w, {x, w});
}

TEST_CASE("swiglu equals the plain operators, forward and backward", "[ops]") {
  const auto dtype = GENERATE(at::kFloat, at::kDouble);
  const at::Tensor gate = random({37, 23}, dtype), up = random({37, 23}, dtype);
  check_like(swiglu(gate * 3, up), at::silu(gate * 3) * up, {gate, up});
}

TEST_CASE("the clamped swiglu is gpt-oss's, in training and in the decoder's rows", "[ops]") {
  const at::Tensor gate = at::tensor({-9.0F, -2.0F, 0.5F, 6.9F, 7.5F, 40.0F}),
                   up = at::tensor({8.0F, -7.5F, 1.0F, -3.0F, 6.0F, -1.0F});
  std::vector<float> expected, row(6);
  for (int64_t i = 0; i < 6; ++i) {
    const double g = std::min(gate[i].item<double>(), 7.0), u = std::clamp(up[i].item<double>(), -7.0, 7.0);
    expected.push_back(static_cast<float>((u + 1) * g / (1 + std::exp(-1.702 * g))));
  }
  CHECK(at::allclose(clamped_swiglu(gate, up), at::tensor(expected), 1e-5, 1e-6));
  const at::Tensor wide_gate = gate.to(at::kDouble).requires_grad_(), wide_up = up.to(at::kDouble).requires_grad_();
  const at::Tensor low = wide_gate.clamp_max(7);
  check_like(clamped_swiglu(wide_gate, wide_up), low * at::sigmoid(1.702 * low) * (wide_up.clamp(-7, 7) + 1),
             {wide_gate, wide_up});
  clamped_gate_row(gate.const_data_ptr<float>(), up.const_data_ptr<float>(), nullptr, nullptr, row.data(), 6);
  CHECK(at::allclose(at::tensor(row), at::tensor(expected), 1e-5, 1e-6));
  const at::Tensor half = at::full({6}, 0.5F);
  clamped_gate_row((gate - half).const_data_ptr<float>(), (up - half).const_data_ptr<float>(),
                   half.const_data_ptr<float>(), half.const_data_ptr<float>(), row.data(), 6);
  CHECK(at::allclose(at::tensor(row), at::tensor(expected), 1e-5, 1e-6));
}

TEST_CASE("a device's clamped swiglu is the CPU's, forward and backward", "[ops]") {
  std::vector<at::Tensor> here, there;
  for (int i = 0; i < 2; ++i) {
    here.push_back((6 * at::randn({5, 8})).requires_grad_());
    there.push_back(here.back().detach().to(test::fake_device()).requires_grad_());
  }
  const at::Tensor expected = clamped_swiglu(here[0], here[1]), found = clamped_swiglu(there[0], there[1]);
  CHECK(at::allclose(found.detach().cpu(), expected.detach(), 1e-5, 1e-5));
  const at::Tensor slopes = at::randn_like(expected);
  expected.backward(slopes);
  found.backward(slopes.to(test::fake_device()));
  for (size_t i = 0; i < here.size(); ++i) CHECK(at::allclose(there[i].grad().cpu(), here[i].grad(), 1e-4, 1e-4));
}

TEST_CASE("swiglu survives gates of any size", "[ops]") {
  const at::Tensor gate = at::tensor({-1e30f, -200.0f, 0.0f, 200.0f, 1e30f}).requires_grad_(true);
  const at::Tensor y = swiglu(gate, at::ones({5}));
  CHECK(at::allclose(y, at::silu(gate), 1e-6, 1e-7));
  y.sum().backward();
  CHECK(at::isfinite(gate.grad()).all().item<bool>());
}

TEST_CASE("rotate turns pairs by position times frequency, and back in the gradient", "[ops]") {
  const auto dtype = GENERATE(at::kFloat, at::kDouble);
  const at::Tensor x = random({9, 3, 8}, dtype), rows = at::tensor({0, 1, 2, 3, 0, 1, 0, 6, 5}, at::kLong);
  const at::Tensor frequencies = at::tensor({1.0f, 0.3f, 0.1f, 0.01f});
  const Rotation rotation = make_rotation(frequencies, at::arange(7), rows);
  const at::Tensor angles = at::outer(rows.to(at::kFloat), frequencies).unsqueeze(1);
  const auto halves = x.chunk(2, -1);
  const at::Tensor plain = at::cat(
      {halves[0] * angles.cos() - halves[1] * angles.sin(), halves[1] * angles.cos() + halves[0] * angles.sin()}, -1);
  check_like(rotate(x, rotation), plain.to(dtype), {x});
}

TEST_CASE("recomputed gives the same values and gradients to the bit", "[ops]") {
  const at::Tensor x = random({40, 16}, at::kFloat), w = random({16}, at::kFloat), m = random({16, 16}, at::kFloat);
  int runs = 0;
  const auto block = [&](const at::Tensor& input) {
    ++runs;
    return rms_norm(at::mm(input, m), w, 1e-6) + input;
  };
  const at::Tensor plain = block(x);
  const auto expected = gradients(plain, {x, w, m});
  const at::Tensor again = recomputed(block, x, {w, m});
  CHECK(runs == 2);
  CHECK(at::equal(again, plain));
  const auto found = gradients(again, {x, w, m});
  CHECK(runs == 3);
  for (size_t i = 0; i < found.size(); ++i) CHECK(at::equal(found[i], expected[i]));
}

TEST_CASE("recomputed passes no gradient to frozen weights or inputs", "[ops]") {
  const at::Tensor x = at::randn({4, 4}), w = random({4}, at::kFloat), frozen = at::randn({4, 4});
  const at::Tensor y = recomputed([&](const at::Tensor& in) { return at::mm(in, frozen) * w; }, x, {w, frozen});
  y.sum().backward();
  CHECK(w.grad().defined());
  CHECK_FALSE(frozen.grad().defined());
  CHECK_FALSE(x.grad().defined());
}

}  // namespace roll
