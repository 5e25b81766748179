#include "ops/attention.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "ops/attention_backends.h"

namespace roll {

namespace {

struct Heads {
  at::Tensor q, k, v;
};

Heads make_heads(int64_t tokens, int64_t heads, int64_t kv_heads, int64_t width, at::ScalarType dtype) {
  const auto options = at::TensorOptions().dtype(dtype);
  return {at::randn({tokens, heads, width}, options).requires_grad_(true),
          at::randn({tokens, kv_heads, width}, options).requires_grad_(true),
          at::randn({tokens, kv_heads, width}, options).requires_grad_(true)};
}

std::vector<at::Tensor> outputs(const at::Tensor& out, const Heads& x) {
  (out * at::linspace(-1, 1, out.numel(), out.options()).reshape(out.sizes())).sum().backward();
  std::vector<at::Tensor> found = {out.detach()};
  for (const at::Tensor& input : {x.q, x.k, x.v}) {
    found.push_back(input.grad().clone());
    input.mutable_grad() = at::Tensor();
  }
  return found;
}

/// All keys, a window wider than a block of queries, a narrow one of capped scores, and a cap alone.
ScoreRule any_rule() {
  return GENERATE(ScoreRule(0.3), ScoreRule(0.3, 70), ScoreRule(0.3, 3, 0.7), ScoreRule(0.3, 0, 1.1));
}

}  // namespace

TEST_CASE("packed attention and its gradients equal one plain attention per sequence", "[ops]") {
  const ScoreRule rule = any_rule();
  const auto dtype = GENERATE(at::kFloat, at::kDouble);
  const auto [heads, kv_heads] = GENERATE(table<int64_t, int64_t>({{1, 1}, {4, 4}, {6, 2}, {4, 1}}));
  const std::vector<int64_t> cu_seqlens = {0, 1, 3, 66, 130, 195, 395, 396};  // around the block of 64 queries
  const Heads x = make_heads(cu_seqlens.back(), heads, kv_heads, 12, dtype);
  const auto ours = outputs(packed_attention(x.q, x.k, x.v, cu_seqlens, cu_seqlens, rule), x);
  const auto plain = outputs(packed_attention_by_piece(x.q, x.k, x.v, {cu_seqlens, cu_seqlens}, rule), x);
  const double tolerance = dtype == at::kDouble ? 1e-10 : 2e-5;
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO("result " << i);
    CHECK(at::allclose(ours[i], plain[i], tolerance, tolerance * plain[i].abs().max().item<double>()));
  }
}

TEST_CASE("the last queries of sequences see what they see among all queries, with the same gradients", "[ops]") {
  const ScoreRule rule = any_rule();
  const auto dtype = GENERATE(at::kFloat, at::kDouble);
  const auto [heads, kv_heads] = GENERATE(table<int64_t, int64_t>({{4, 4}, {6, 2}}));
  const std::vector<int64_t> cu_keys = {0, 5, 135, 201, 202, 272}, tails = {2, 70, 66, 1, 1};
  const Heads whole = make_heads(cu_keys.back(), heads, kv_heads, 12, dtype);
  std::vector<int64_t> cu_queries = {0};
  std::vector<at::Tensor> rows;
  for (size_t c = 0; c < tails.size(); ++c) {
    rows.push_back(at::arange(cu_keys[c + 1] - tails[c], cu_keys[c + 1], at::kLong));
    cu_queries.push_back(cu_queries.back() + tails[c]);
  }
  const auto tail_of = [tail = at::cat(rows)](const at::Tensor& x) { return x.index_select(0, tail); };
  auto expected =
      outputs(tail_of(packed_attention_by_piece(whole.q, whole.k, whole.v, {cu_keys, cu_keys}, rule)), whole);
  expected[1] = tail_of(expected[1]);
  const Heads tail = {tail_of(whole.q.detach()).requires_grad_(true), whole.k, whole.v};
  const double tolerance = dtype == at::kDouble ? 1e-10 : 2e-5;
  for (const auto& found :
       {outputs(packed_attention(tail.q, tail.k, tail.v, cu_queries, cu_keys, rule), tail),
        outputs(packed_attention_by_piece(tail.q, tail.k, tail.v, {cu_queries, cu_keys}, rule), tail)})
    for (size_t i = 0; i < found.size(); ++i) {
      INFO("result " << i);
      CHECK(at::allclose(found[i], expected[i], tolerance, tolerance * expected[i].abs().max().item<double>()));
    }
}

TEST_CASE("keys that several pieces name get the sum of their gradients", "[ops]") {
  const ScoreRule rule = any_rule();
  const auto dtype = GENERATE(at::kFloat, at::kDouble, at::kBFloat16);
  const Heads x = make_heads(90, 4, 2, 8, dtype);  // a piece of 70, and two that go on after its first 66
  std::vector<at::Tensor> rows = {at::arange(70, at::kLong)};
  for (const int64_t begin : {70, 85}) {
    rows.push_back(at::arange(66, at::kLong));
    rows.push_back(at::arange(begin, begin == 70 ? 85 : 90, at::kLong));
  }
  Pieces pieces{{0, 70, 85, 90}, {0, 70, 70 + 81, 70 + 81 + 71}};
  pieces.key_rows = at::cat(rows);
  const auto found = outputs(packed_attention(x.q, x.k, x.v, pieces, rule), x);
  Heads wide = x;
  for (at::Tensor* input : {&wide.q, &wide.k, &wide.v}) *input = input->detach().to(at::kDouble).requires_grad_();
  const auto of_pieces = [&](const at::Tensor& all) { return all.index_select(0, pieces.key_rows); };
  const auto expected = outputs(packed_attention_by_piece(wide.q, of_pieces(wide.k), of_pieces(wide.v),
                                                          {pieces.cu_queries, pieces.cu_keys}, rule),
                                wide);
  const double tolerance = dtype == at::kDouble ? 1e-10 : dtype == at::kFloat ? 2e-5 : 2e-2;
  for (size_t i = 0; i < found.size(); ++i) {
    INFO("result " << i);
    REQUIRE(found[i].scalar_type() == dtype);
    CHECK(at::allclose(found[i].to(at::kDouble), expected[i], tolerance,
                       tolerance * expected[i].abs().max().item<double>()));
  }
}

TEST_CASE("attention piece by piece, over one wide key head or with sinks, is the CPU kernel's", "[ops]") {
  const bool has_sinks = GENERATE(false, true);
  const ScoreRule rule = {0.2, GENERATE(0, 3)};
  const int64_t size = has_sinks ? 8 : 288, key_heads = has_sinks ? 2 : 1;
  const at::Tensor q = at::randn({9, 4, size}), k = at::randn({14, key_heads, size}), v = at::randn_like(k);
  const at::Tensor sinks = has_sinks ? at::randn({4}) : at::Tensor();
  const Pieces pieces = {{0, 3, 9}, {0, 6, 14}};
  const at::Tensor expected = packed_attention(q, k, v, pieces, rule, sinks);
  CHECK(at::allclose(packed_attention_by_piece(q, k, v, pieces, rule, sinks), expected, 1e-4, 1e-5));
}

TEST_CASE("bounds that do not fit the queries and keys are a bug", "[ops]") {
  const Heads x = make_heads(6, 4, 2, 8, at::kFloat);
  CHECK_THROWS_AS(packed_attention(x.q, x.k, x.v, {0, 5}, {0, 6}, 1.0), Bug);
  CHECK_THROWS_AS(packed_attention(x.q, x.k, x.v, {0, 6}, {0, 5}, 1.0), Bug);
  CHECK_THROWS_AS(packed_attention(x.q, x.k, x.v, {0, 3, 6}, {0, 6}, 1.0), Bug);
}

TEST_CASE("a sequence's attention does not depend on its neighbours, to the bit", "[ops]") {
  const std::vector<int64_t> cu_seqlens = {0, 70, 100, 180};
  const Heads x = make_heads(180, 4, 2, 16, at::kFloat);
  const auto before = outputs(packed_attention(x.q, x.k, x.v, cu_seqlens, cu_seqlens, 0.25), x);
  for (const at::Tensor& t : {x.q, x.k, x.v}) {
    const at::NoGradGuard no_grad;
    t.slice(0, 0, 70).normal_();
    t.slice(0, 100, 180).fill_(1e4);
  }
  const auto after = outputs(packed_attention(x.q, x.k, x.v, cu_seqlens, cu_seqlens, 0.25), x);
  for (size_t i = 0; i < before.size(); ++i) CHECK(at::equal(before[i].slice(0, 70, 100), after[i].slice(0, 70, 100)));
}

TEST_CASE("large scores do not overflow", "[ops]") {
  const Heads x = make_heads(20, 2, 2, 8, at::kFloat);
  const at::Tensor out = packed_attention(x.q * 1e3, x.k * 1e3, x.v, {0, 20}, {0, 20}, 1.0);
  CHECK(at::isfinite(out).all().item<bool>());
  out.sum().backward();
  CHECK(at::isfinite(x.q.grad()).all().item<bool>());
}

}  // namespace roll
