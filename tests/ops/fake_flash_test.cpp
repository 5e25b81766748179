// LibTorch's flash kernels on the fake device: the CPU's attention, with the memory that the kernels take beside their
// results.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <catch2/catch.hpp>

#include "ops/attention_backends.h"
#include "ops/fake_device.h"

namespace roll {

namespace {

Pieces pieces_of(const std::optional<at::Tensor>& cu_queries, const std::optional<at::Tensor>& cu_keys) {
  const auto bounds = [](const at::Tensor& cu) {
    const auto* const first = cu.const_data_ptr<int>();
    return std::vector<int64_t>(first, first + cu.numel());
  };
  return {bounds(*cu_queries), bounds(*cu_keys)};
}

ScoreRule rule_of(double scale, const std::optional<int64_t>& earlier) {
  return {scale, earlier ? *earlier + 1 : 0};
}

at::Tensor wide_memory(const at::Tensor& x) {
  return test::memory_of(x).to(at::kFloat).contiguous();
}

at::Tensor filled(const at::Tensor& numbers, at::ScalarType dtype) {
  const at::Tensor there = at::empty(numbers.sizes(), at::TensorOptions(test::fake_device()).dtype(dtype));
  test::memory_of(there).copy_(numbers);
  return there;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> fake_flash(
    const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const std::optional<at::Tensor>& cu_queries,
    const std::optional<at::Tensor>& cu_keys, int64_t, int64_t, double, bool, bool, std::optional<double> scale,
    std::optional<int64_t> earlier, std::optional<int64_t>, const std::optional<at::Tensor>&,
    const std::optional<at::Tensor>&) {
  test::count_launch("attention");
  const AttentionResult found = attention_forward_cpu(wide_memory(q), wide_memory(k), wide_memory(v),
                                                      pieces_of(cu_queries, cu_keys), rule_of(*scale, earlier));
  const at::Tensor none = at::empty({0}, at::TensorOptions(test::fake_device()).dtype(at::kLong));
  return {filled(found.out, q.scalar_type()), filled(found.logsumexp.t(), at::kFloat), none, none, none};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> fake_flash_backward(
    const at::Tensor& d_out, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
    const at::Tensor& logsumexp, const at::Tensor& cu_queries, const at::Tensor& cu_keys, int64_t, int64_t, double,
    bool, const at::Tensor&, const at::Tensor&, std::optional<double> scale, std::optional<int64_t> earlier,
    std::optional<int64_t>) {
  test::count_launch("attention backward");
  constexpr int64_t kProcessors = 132, kMore = 128;  // rows of a piece that atomic sums may go beyond its end
  const int64_t pieces = cu_queries.numel() - 1, heads = q.size(1), width = (q.size(2) + 31) / 32 * 32;
  const int64_t splits =
      at::globalContext().deterministicAlgorithms() ? (kProcessors + pieces * heads - 1) / (pieces * heads) : 1;
  const AttentionGrads found =
      attention_backward_cpu(wide_memory(d_out), wide_memory(q), wide_memory(k), wide_memory(v),
                             {wide_memory(out), wide_memory(logsumexp).t().contiguous()},
                             pieces_of(cu_queries, cu_keys), rule_of(*scale, earlier));
  const at::Tensor dq = filled(found.q, q.scalar_type());
  const at::TensorOptions wide = dq.options().dtype(at::kFloat);
  const int64_t rows = q.size(0) + kMore * pieces;
  const at::Tensor sums = at::empty({splits, rows, heads, width}, wide), products = at::empty({heads, rows}, wide);
  at::Tensor of_each_head;
  if (k.size(1) != q.size(1)) of_each_head = at::empty({2, k.size(0), q.size(1), q.size(2)}, dq.options());
  return {dq, filled(found.k, q.scalar_type()), filled(found.v, q.scalar_type())};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_flash_attention_forward", &fake_flash);
  m.impl("_flash_attention_backward", &fake_flash_backward);
}

}  // namespace

TEST_CASE("the fake device's flash attention is the CPU's", "[ops]") {
  const std::vector<int64_t> bounds = {0, 1, 9, 20};
  const int64_t window = GENERATE(0, 3);
  std::vector<at::Tensor> here, there;
  for (const int64_t heads : {4, 2, 2}) {
    here.push_back(at::randn({20, heads, 8}).to(at::kBFloat16).requires_grad_());
    there.push_back(here.back().detach().to(test::fake_device()).requires_grad_());
  }
  if (GENERATE(false, true)) {
    here.push_back(at::randn({4}).requires_grad_());  // sinks
    there.push_back(here.back().detach().to(test::fake_device()).requires_grad_());
  }
  const auto attend = [&](const std::vector<at::Tensor>& x) {
    return packed_attention(x[0], x[1], x[2], pieces_on(x[0].device(), bounds, bounds), {0.3, window},
                            x.size() > 3 ? x[3] : at::Tensor());
  };
  const at::Tensor expected = attend(here), found = attend(there), slopes = at::randn_like(expected);
  const double rounding = here.size() > 3 ? 1e-2 : 0;  // sinks join what a kernel has rounded
  CHECK(at::allclose(found.detach().cpu(), expected.detach(), rounding, rounding));
  expected.backward(slopes);
  test::take_device_counts();
  found.backward(slopes.to(test::fake_device()));
  CHECK(test::take_device_counts().launches.contains("attention backward"));
  for (size_t i = 0; i < here.size(); ++i) CHECK(at::allclose(there[i].grad().cpu(), here[i].grad(), 1e-2, 1e-2));
}

}  // namespace roll
