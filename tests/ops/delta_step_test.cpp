// A token's step on the CPU against the same in LibTorch's operators, in float64.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "ops/delta_rule.h"
#include "ops/delta_step.h"

namespace roll {

TEST_CASE("a head's tokens step by step are what the packed form computes", "[ops]") {
  const int64_t key_dim = GENERATE(1, 24), value_dim = GENERATE(1, 32, 75), tokens = 5, taps = 1;
  const at::Tensor mixed = at::randn({tokens, 2 * key_dim + value_dim}), g = -at::rand({tokens, 1});
  const at::Tensor rate = at::rand({tokens, 1}), weight = at::randn({2 * key_dim + value_dim, taps});
  const DeltaRows rows = {mixed.to(at::kDouble), weight.to(at::kDouble), g.to(at::kDouble), rate.to(at::kDouble)};
  const at::Tensor expected =
      gated_delta_rule({1, 1, key_dim, value_dim}, rows, plan_delta({0, tokens}, taps, at::kCPU));
  std::vector<float> state(static_cast<size_t>(key_dim * value_dim)), x(static_cast<size_t>(mixed.size(1)));
  const at::Tensor out = at::empty({tokens, 1, value_dim});
  const at::Tensor by_tap = weight.t().contiguous();
  for (int64_t t = 0; t < tokens; ++t) {
    std::ranges::fill(x, 0.0f);
    add_product_row(mixed[t].const_data_ptr<float>(), by_tap.const_data_ptr<float>(), x.data(), std::ssize(x));
    silu_row(x.data(), std::ssize(x));
    scale_to_length(x.data(), key_dim, 1 / std::sqrt(static_cast<float>(key_dim)));
    scale_to_length(x.data() + key_dim, key_dim, 1);
    step_state({.q = x.data(),
                .k = x.data() + key_dim,
                .v = x.data() + 2 * key_dim,
                .decay = std::exp(g[t].item<float>()),
                .rate = rate[t].item<float>()},
               state.data(), out[t].mutable_data_ptr<float>(), key_dim, value_dim);
  }
  CHECK((out - expected).abs().max().item<double>() < 1e-5);
}

TEST_CASE("what has no length stays so, and decays of large steps are no other than of small ones", "[ops]") {
  std::vector<float> nothing(7);
  scale_to_length(nothing.data(), 7, 1);
  for (const float x : nothing) CHECK(x == 0);
  for (const float x : {-100.0f, -3.0f, 0.0f, 19.0f, 21.0f, 100.0f})
    CHECK(delta_decay(-9, x) == Approx(std::exp(-std::exp(-9.0) * std::log1p(std::exp(static_cast<double>(x))))));
}

}  // namespace roll
