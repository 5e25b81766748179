#include "rollout/roofline.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

namespace roll {

namespace {

/// E = 8, 2 layers, 2 heads and 1 key/value head of 4, inner 16, V = 32.
ModelSpec small_spec(bool tied) {
  ModelSpec spec;
  spec.vocab_size = 32;
  spec.hidden_size = 8;
  spec.intermediate_size = 16;
  spec.num_layers = 2;
  spec.num_heads = 2;
  spec.num_kv_heads = 1;
  spec.head_dim = 4;
  spec.tied_head = tied;
  return spec;
}

// q and o, k and v, the three of the feed-forward, in two layers.
constexpr double kLinear = 2 * (2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 16), kHead = 32 * 8, kNorms = 2 * 2 * 8 + 8;
constexpr double kKept = 2 * 2 * 4;  // keys and values of a token

}  // namespace

TEST_CASE("a step of decoding reads the weights once and each sequence's keys and values", "[rollout]") {
  for (const int64_t batch : {1, 5})
    for (const int64_t length : {1, 100}) {
      const auto b = static_cast<double>(batch), n = static_cast<double>(length);
      const DecodingCost tied = step_cost(small_spec(true), {4, 4}, batch, length - 1, length);
      CHECK(tied.bytes == 4 * (kLinear + kHead + kNorms + b * n * kKept));
      // Of an embedding of its own, a row a sequence.
      const DecodingCost untied = step_cost(small_spec(false), {2, 2}, batch, length - 1, length);
      CHECK(untied.bytes == 2 * (kLinear + kHead + kNorms + b * 8 + b * n * kKept));
      // Two products over keys and values: a position sees those before it and, by causal halving, half of itself.
      const double attention = 2 * 2 * 2 * 8 * (n - 0.5);
      CHECK(tied.flops == Approx(b * (2 * kLinear + 2 * kHead + attention)));
      CHECK(untied.flops == tied.flops);
    }
}

TEST_CASE("a step of decoding reads the experts that its tokens are expected to go through", "[rollout]") {
  ModelSpec spec = small_spec(true);
  spec.architecture = &*std::ranges::find(architectures(), "qwen3_moe", &Architecture::name);
  spec.mixture = MixtureSpec{.routing = {.count = 8, .chosen = 2}, .inner = 4};
  constexpr double kExperts = 2 * 8 * 3 * 8 * 4;  // the weights of eight experts in two layers
  const auto bytes = [&](int64_t batch) {
    return step_cost(spec, {2, 4}, batch, 9, 10).bytes - 4.0 * batch * 10 * kKept;
  };
  const double others = 2 * static_cast<double>(spec.num_parameters()) - 2 * kExperts;
  // One token has two of eight; each further one misses an expert with 6/8.
  CHECK(bytes(1) == Approx(others + 2 * kExperts * 2 / 8));
  CHECK(bytes(3) == Approx(others + 2 * kExperts * (1 - std::pow(0.75, 3))));
  CHECK(bytes(1000) == Approx(others + 2 * kExperts));
}

TEST_CASE("a prompt goes through the lm head with its last token only", "[rollout]") {
  const ModelSpec spec = small_spec(true);
  const DecodingCost cost = step_cost(spec, {4, 4}, 3, 0, 10);
  CHECK(cost.flops == Approx(3 * spec.forward_flops(10, 1)));
  CHECK(cost.bytes == 4 * (kLinear + kHead + kNorms + 3 * 10 * kKept));
}

TEST_CASE("a machine takes the longer of reading and multiplying", "[rollout]") {
  const MachineSpeed machine{.bytes_per_s = 10, .flops_per_s = 1000};
  CHECK(least_seconds({.bytes = 20, .flops = 1000}, machine) == 2);
  CHECK(least_seconds({.bytes = 20, .flops = 3000}, machine) == 3);
  CHECK(is_bound_by_memory({.bytes = 20, .flops = 1000}, machine));
  CHECK_FALSE(is_bound_by_memory({.bytes = 20, .flops = 3000}, machine));
}

}  // namespace roll
