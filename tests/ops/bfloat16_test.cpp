// The CPU's operators on bfloat16, against the same ones in float64 on the same numbers: only the results are rounded.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "ops/accumulating_linear.h"
#include "ops/attention.h"
#include "ops/layer_ops.h"
#include "ops/linear_log_prob.h"
#include "ops/multiplying.h"
#include "ops/packed_weight.h"
#include "ops/products.h"
#include "ops/wide.h"

namespace roll {

namespace {

using Tensors = std::vector<at::Tensor>;
using Op = std::function<at::Tensor(const Tensors&)>;

constexpr double kHalfUlp = 1.0 / 256;  // of bfloat16, as a share of the number, at most

at::Tensor some(at::IntArrayRef shape) {
  return at::randn(shape).to(at::kBFloat16);
}

/// op's result and the gradients by its inputs of sum(result * slopes).
Tensors run(const Op& op, const Tensors& inputs, at::ScalarType dtype) {
  Tensors leaves;
  for (const at::Tensor& x : inputs) leaves.push_back(x.detach().to(dtype, false, true).requires_grad_());
  const at::Tensor y = op(leaves);
  const at::Tensor slopes = at::linspace(-1, 2, y.numel()).to(at::kBFloat16).view(y.sizes());
  y.backward(slopes.to(y.scalar_type()));
  Tensors found = {y.detach()};
  for (const at::Tensor& x : leaves) found.push_back(x.grad());
  return found;
}

/// `noise`: what roundings on the way to a gradient may add, as a share of the largest.
void check_rounded(const Op& op, const Tensors& inputs, double noise) {
  const Tensors ours = run(op, inputs, at::kBFloat16), exact = run(op, inputs, at::kDouble);
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO("result " << i);
    const double largest = exact[i].abs().max().item<double>();
    CHECK(at::allclose(ours[i].to(at::kDouble), exact[i], kHalfUlp, 1e-6 + (i == 0 ? 0 : noise * largest)));
  }
}

}  // namespace

TEST_CASE("float32 becomes bfloat16 as LibTorch rounds it", "[ops]") {
  at::manual_seed(1);
  const at::Tensor bits = at::randint(0, int64_t{1} << 32, {20000}, at::kLong).to(at::kInt);
  at::Tensor x = bits.view(at::kFloat);
  x = at::where(x.isnan(), at::zeros_like(x), x);
  x.slice(0, 0, 4).copy_(at::tensor({1.00390625f, 1.01171875f, 3.4e38f, -0.0f}));  // two ties, the largest, a sign
  const at::Tensor expected = x.to(at::kBFloat16);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto ours = narrow<c10::BFloat16>(x[i].item<float>());
    if (ours.x != expected[i].item<c10::BFloat16>().x) FAIL("of " << x[i].item<float>());
    if (widen(ours) != static_cast<float>(ours)) FAIL("back from " << ours);
  }
  CHECK(std::isnan(widen(narrow<c10::BFloat16>(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isinf(widen(narrow<c10::BFloat16>(std::numeric_limits<float>::infinity()))));
}

TEST_CASE("layer operations on bfloat16 are float32's, rounded once", "[ops]") {
  at::manual_seed(1);
  check_rounded([](const Tensors& x) { return rms_norm(x[0], x[1], 1e-6); }, {some({300, 33}), some({33})}, 1e-3);
  check_rounded([](const Tensors& x) { return swiglu(x[0], x[1]); }, {some({37, 23}), some({37, 23})}, 1e-3);
  const Rotation rotation =
      make_rotation(at::tensor({1.0f, 0.3f, 0.1f}), at::arange(9), at::tensor({0, 3, 8, 1, 1}, at::kLong));
  check_rounded([&](const Tensors& x) { return rotate(x[0], rotation); }, {some({5, 2, 6})}, 1e-3);
}

TEST_CASE("attention on bfloat16 rounds its results alone", "[ops]") {
  at::manual_seed(1);
  const std::vector<int64_t> cu_seqlens = {0, 1, 70, 135};
  check_rounded([&](const Tensors& x) { return packed_attention(x[0], x[1], x[2], cu_seqlens, cu_seqlens, 0.3); },
                {some({135, 4, 12}), some({135, 2, 12}), some({135, 2, 12})}, 1e-2);
}

TEST_CASE("a linear layer on bfloat16 adds in float32", "[ops]") {
  at::manual_seed(1);
  const test::Multiplying multiplying(GENERATE(true, false));
  check_rounded([](const Tensors& x) { return accumulating_linear(x[0], x[1], x[2]); },
                {some({70, 700}), some({130, 700}), some({130})}, 1e-3);
}

TEST_CASE("log-probs and entropy of bfloat16 states and head have float32's digits", "[ops]") {
  at::manual_seed(1);
  const test::Multiplying multiplying(GENERATE(true, false));
  const int64_t vocab = GENERATE(130, 128);
  const at::Tensor labels = at::randint(vocab, {50}, at::kLong).slice(0, 0, 50);
  const LogProbOptions options{.temperature = 0.7, .with_entropy = true, .chunk_bytes = GENERATE(1 << 13, 1 << 26)};
  const at::Tensor hidden = some({50, 34}), head = some({vocab, 34});
  const LogProbs ours = linear_log_prob(hidden, head, labels, options);
  const LogProbs exact = linear_log_prob(hidden.to(at::kDouble), head.to(at::kDouble), labels, options);
  CHECK(ours.log_probs.scalar_type() == at::kFloat);
  CHECK(at::allclose(ours.log_probs.to(at::kDouble), exact.log_probs, 1e-5, 1e-5));
  CHECK(at::allclose(ours.entropy.to(at::kDouble), exact.entropy, 1e-4, 1e-5));
  CHECK(at::equal(wide_logits(hidden, head).argmax(-1),
                  at::mm(hidden.to(at::kDouble), head.to(at::kDouble).t()).argmax(-1)));
  const auto log_probs = [&](const Tensors& x) { return linear_log_prob(x[0], x[1], labels, options).log_probs; };
  const Tensors found = run(log_probs, {hidden, head}, at::kBFloat16),
                wanted = run(log_probs, {hidden, head}, at::kDouble);
  for (size_t i = 1; i < found.size(); ++i)
    CHECK(at::allclose(found[i].to(at::kDouble), wanted[i], 4 * kHalfUlp, 1e-2 * wanted[i].abs().max().item<double>()));
}

TEST_CASE("the processor says which products of bfloat16 are made, unless a run did", "[ops]") {
  std::ostringstream words;
  words << std::ifstream("/proc/cpuinfo").rdbuf();
  const auto has = [&](const char* word) { return words.str().find(word) != std::string::npos; };
  CHECK(has_bfloat16_units() == has(" avx512_bf16"));
  CHECK(is_for_onednn() == (has(" avx512f") && !has("GenuineIntel")));
  CHECK(multiplies_bfloat16() == has_bfloat16_units());
  CHECK(multiplies_by_onednn() == is_for_onednn());
  const at::Tensor x = some({2, 2});
  for (const bool as_such : {true, false}) {
    const test::Multiplying multiplying(as_such);
    CHECK(multipliable(x).scalar_type() == (as_such ? at::kBFloat16 : at::kFloat));
  }
  CHECK(multiplies_bfloat16() == has_bfloat16_units());
}

TEST_CASE("gradients of a row that is read thousands of times all count", "[ops]") {
  at::manual_seed(1);
  const at::Tensor weight = some({3, 4}).requires_grad_(), ids = at::ones({5000}, at::kLong);
  const at::Tensor rows = embed_rows(weight, ids);
  CHECK(at::equal(rows, weight.index_select(0, ids)));
  rows.backward(at::ones_like(rows));
  CHECK(weight.grad()[1][0].item<float>() == Approx(5000).epsilon(kHalfUlp));
  CHECK(weight.grad()[0].abs().sum().item<float>() == 0);
}

TEST_CASE("packed weights multiply as plain ones, whatever panels, rows and pairs are left over", "[ops]") {
  at::manual_seed(1);
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const int64_t outputs = GENERATE(1, 64, 130), inputs = GENERATE(2, 33, 256), rows = GENERATE(1, 7, 200);
  const at::Tensor weight = some({outputs, inputs}).to(dtype), x = some({rows, inputs + 3}).to(dtype);
  StreamedMemory memory(PackedWeight::room_for(outputs, inputs, dtype));
  PackedWeight packed(outputs, inputs, dtype, memory);
  packed.fill(0, weight.slice(0, 0, outputs / 2));
  packed.fill(outputs / 2, weight.slice(0, outputs / 2));
  at::Tensor y = at::full({rows, packed.padded_outputs() + 5}, 9.0f);
  for (int64_t panel = 0; panel < packed.num_panels(); ++panel) {
    float* const out = y.mutable_data_ptr<float>() + panel * kPanelWidth;
    if (dtype == at::kFloat)
      packed.multiply(panel, x.const_data_ptr<float>(), inputs + 3, rows, out, y.size(1), panel + 1);
    else
      packed.multiply(panel, x.const_data_ptr<c10::BFloat16>(), inputs + 3, rows, out, y.size(1), panel + 1);
  }
  PackedWeight::release();
  const at::Tensor exact = at::mm(x.slice(1, 0, inputs).to(at::kDouble), weight.to(at::kDouble).t());
  CHECK(at::allclose(y.slice(1, 0, outputs).to(at::kDouble), exact, 1e-5, 1e-4));
  CHECK(y.slice(1, outputs, packed.padded_outputs()).abs().sum().item<float>() == 0);
  CHECK(y.slice(1, packed.padded_outputs()).eq(9).all().item<bool>());
}

}  // namespace roll
