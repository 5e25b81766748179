// The recurrence of gated delta nets: the equations token by token, chunks, and chunks that go on where others ended.
#include "ops/delta_rule.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <limits>

namespace roll {

namespace {

constexpr DeltaHeads kHeads{.key_heads = 2, .value_heads = 6, .key_dim = 5, .value_dim = 3};
constexpr int64_t kTaps = 4, kChannels = 2 * 2 * 5 + 6 * 3;

DeltaRows some_rows(int64_t tokens) {
  at::manual_seed(3);
  const auto numbers = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
  return {.mixed = numbers({tokens, kChannels}),
          .taps = numbers({kChannels, kTaps}),
          .decay = -at::rand({tokens, 6}, at::kDouble) * 0.2,  // which lets a chunk's first token through to its last
          .rate = at::rand({tokens, 6}, at::kDouble)};
}

DeltaRows part(const DeltaRows& rows, int64_t begin, int64_t end) {
  const auto own = [&](const at::Tensor& x) { return x.narrow(0, begin, end - begin); };
  return {.mixed = own(rows.mixed), .taps = rows.taps, .decay = own(rows.decay), .rate = own(rows.rate)};
}

DeltaStates no_states(int64_t sequences) {
  return {.heads = at::zeros({sequences, 6, 5, 3}, at::kDouble),
          .tails = at::zeros({sequences, kTaps - 1, kChannels}, at::kDouble)};
}

at::Tensor whole(const DeltaRows& rows, const std::vector<int64_t>& cu) {
  return gated_delta_rule(kHeads, rows, plan_delta(cu, kTaps, at::kCPU));
}

/// As the header's equations have it, number by number.
at::Tensor by_equations(const DeltaRows& rows) {
  const int64_t tokens = rows.mixed.size(0);
  const at::Tensor padded = at::cat({at::zeros({kTaps - 1, kChannels}, at::kDouble), rows.mixed});
  at::Tensor out = at::empty({tokens, 6, 3}, at::kDouble);
  for (int64_t h = 0; h < 6; ++h) {
    at::Tensor state = at::zeros({5, 3}, at::kDouble);
    for (int64_t t = 0; t < tokens; ++t) {
      const at::Tensor x = at::silu((padded.narrow(0, t, kTaps) * rows.taps.t()).sum(0));
      const auto direction = [](const at::Tensor& y) { return y / at::sqrt(y.square().sum() + 1e-6); };
      const int64_t key_head = h / 3;
      const at::Tensor q = direction(x.narrow(0, key_head * 5, 5)) / std::sqrt(5.0);
      const at::Tensor k = direction(x.narrow(0, 10 + key_head * 5, 5)), v = x.narrow(0, 20 + h * 3, 3);
      state = state * rows.decay[t][h].exp();
      state = state + at::outer(k, v - at::mv(state.t(), k)) * rows.rate[t][h];
      out[t][h] = at::mv(state.t(), q);
    }
  }
  return out;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace

TEST_CASE("chunks of the delta rule give what its equations say", "[ops]") {
  const DeltaRows rows = some_rows(150);
  CHECK(difference(whole(rows, {0, 150}), by_equations(rows)) < 1e-12);
}

TEST_CASE("packed sequences of the delta rule never see each other", "[ops]") {
  DeltaRows rows = some_rows(150);
  const std::vector<int64_t> cu = {0, 2, 3, 81, 150};
  const at::Tensor packed = whole(rows, cu);
  for (size_t b = 0; b + 1 < cu.size(); ++b)
    CHECK(difference(packed.slice(0, cu[b], cu[b + 1]), by_equations(part(rows, cu[b], cu[b + 1]))) < 1e-12);
  rows.mixed.slice(0, 3, 81).fill_(std::numeric_limits<double>::quiet_NaN());
  CHECK(at::equal(whole(rows, cu).slice(0, 81, 150), packed.slice(0, 81, 150)));
  CHECK(at::equal(whole(rows, cu).slice(0, 0, 3), packed.slice(0, 0, 3)));
}

TEST_CASE("the delta rule goes on from states, in chunks and step by step", "[ops]") {
  const DeltaRows rows = some_rows(90);
  const at::Tensor expected = whole(rows, {0, 90});
  DeltaStates states = no_states(1);
  std::vector<at::Tensor> outs;
  for (const auto& [begin, end] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 2}, {2, 70}, {70, 71}, {71, 72}, {72, 90}})
    outs.push_back(
        gated_delta_rule(kHeads, part(rows, begin, end), plan_delta({0, end - begin}, kTaps, at::kCPU), &states));
  CHECK(difference(at::cat(outs), expected) < 1e-12);
}

TEST_CASE("states of sequences that advance together are each their own", "[ops]") {
  const DeltaRows rows = some_rows(100);  // of 30 and 70 tokens
  const at::Tensor expected = whole(rows, {0, 30, 100});
  DeltaStates states = no_states(2);
  int64_t begun = 0, begun_second = 30;
  const auto together = [&](int64_t first, int64_t second) {  // so many more tokens of each
    const DeltaRows a = part(rows, begun, begun + first), b = part(rows, begun_second, begun_second + second);
    const DeltaRows both = {.mixed = at::cat({a.mixed, b.mixed}),
                            .taps = rows.taps,
                            .decay = at::cat({a.decay, b.decay}),
                            .rate = at::cat({a.rate, b.rate})};
    const at::Tensor out =
        gated_delta_rule(kHeads, both, plan_delta({0, first, first + second}, kTaps, at::kCPU), &states);
    CHECK(difference(out.narrow(0, 0, first), expected.narrow(0, begun, first)) < 1e-12);
    CHECK(difference(out.narrow(0, first, second), expected.narrow(0, begun_second, second)) < 1e-12);
    begun += first, begun_second += second;
  };
  together(20, 20);
  together(1, 1);
  together(2, 40);  // the longer one, which comes second, is scanned first
  together(1, 1);
}

}  // namespace roll
