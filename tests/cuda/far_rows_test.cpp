// The kernels of trained layers where numbers have indices that 32 bits do not hold: long micro-batches of wide models.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "cuda/head_kernels.h"
#include "cuda/layer_kernels.h"
#include "cuda/reserved.h"
#include "cuda/warps.h"

namespace roll {

namespace {

constexpr int64_t kFar = int64_t{1} << 31;

/// 1/8, 2/8, ... 16/8, again and again.
float number_at(int64_t i) {
  return static_cast<float>(i % 16 + 1) / 8;
}

void fill(Bf16* numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) store(numbers[i], number_at(i));
}

/// bfloat16 has 8 bits.
void check_near(Bf16 found, double exact) {
  REQUIRE(to_float(found) == Approx(exact).epsilon(1.0 / 128));
}

/// All blocks of the last row.
template <class Kernel>
void run_last_row(const Kernel& kernel) {
  for (int64_t i = 0; i < kernel.blocks_per_row(); ++i) test::run_block(kernel, kernel.num_blocks() - 1 - i);
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

TEST_CASE("gates and their gradients lie beyond 2^31 numbers", "[cuda]") {
  constexpr int64_t kInner = 18944, kRows = 131072, kLast = kRows - 1;
  static_assert(kLast * kInner > kFar);
  const test::Reserved<Bf16> gate_up(2 * kRows * kInner), gated(kRows * kInner), d_gate_up(2 * kRows * kInner);
  Bf16 *const in = gate_up.open(2 * kLast * kInner, 2 * kInner), *const out = gated.open(kLast * kInner, kInner),
              *const d_in = d_gate_up.open(2 * kLast * kInner, 2 * kInner);
  fill(in, 2 * kInner);
  run_last_row(GateRows<Bf16>{.gate_up = gate_up.data(), .gated = gated.data(), .rows = kRows, .inner = kInner});
  for (int64_t i = 0; i < kInner; ++i) {
    const double gate = to_float(in[i]), up = to_float(in[kInner + i]);
    check_near(out[i], gate * sigmoid(gate) * up);
  }
  fill(out, kInner);  // now the gradient of what was there
  run_last_row(GateRowsBackward<Bf16>{.gate_up = gate_up.data(),
                                      .d_gated = gated.data(),
                                      .d_gate_up = d_gate_up.data(),
                                      .rows = kRows,
                                      .inner = kInner});
  for (int64_t i = 0; i < kInner; ++i) {
    const double gate = to_float(in[i]), d = number_at(i);
    check_near(d_in[kInner + i], d * gate * sigmoid(gate));
  }
}

TEST_CASE("the rows that norms and embeddings are about lie beyond 2^31 numbers", "[cuda]") {
  constexpr int64_t kWidth = 8192, kRows = 300'000, kLast = kRows - 1;
  static_assert(kLast * kWidth > kFar);
  const test::Reserved<Bf16> x(kRows * kWidth), normed(kRows * kWidth);
  fill(x.open(kLast * kWidth, kWidth), kWidth);
  const Bf16* const out = normed.open(kLast * kWidth, kWidth);
  std::vector<Bf16> weight(kWidth);
  for (Bf16& one : weight) store(one, 1.0f);
  test::run_block(NormRows<Bf16>{.x = x.data(),
                                 .weight = weight.data(),
                                 .normed = normed.data(),
                                 .rows = kRows,
                                 .width = kWidth,
                                 .inverse_width = 1.0f / kWidth},
                  kLast);
  double squares = 0;
  for (int64_t i = 0; i < 16; ++i) squares += number_at(i) * number_at(i) / 16;
  for (int64_t i = 0; i < kWidth; ++i) check_near(out[i], number_at(i) / std::sqrt(squares));

  const test::Reserved<float> table(kRows * kWidth);
  float* const row = table.open(kLast * kWidth, kWidth);
  const int64_t token = kLast;
  run_last_row(AddToRows<Bf16>{
      .ids = &kLast, .tokens = &token, .d_rows = x.data(), .d_table = table.data(), .rows = 1, .width = kWidth});
  for (int64_t i = 0; i < kWidth; ++i) REQUIRE(row[i] == number_at(i));
}

TEST_CASE("heads turn beyond 2^31 numbers", "[cuda]") {
  constexpr int64_t kHeads = 28, kKvHeads = 4, kDim = 128, kRows = 700'000, kWidth = (kHeads + 2 * kKvHeads) * kDim;
  static_assert((kRows - 8) * kWidth > kFar);
  const test::Reserved<Bf16> qkv(kRows * kWidth);
  Bf16* const last = qkv.open((kRows - 8) * kWidth, 8 * kWidth) + 7 * kWidth;
  fill(last, kWidth);
  const std::vector<float> cos(kDim / 2, 0.0f), sin(kDim / 2, 1.0f);
  const std::vector<int64_t> angles(kRows, 0);
  const RotateHeads<Bf16> kernel{.shape = {.cos = cos.data(),
                                           .sin = sin.data(),
                                           .angles = angles.data(),
                                           .rows = kRows,
                                           .heads = kHeads,
                                           .kv_heads = kKvHeads,
                                           .head_dim = kDim,
                                           .shift = 3},
                                 .qkv = qkv.data(),
                                 .out = qkv.data(),
                                 .out_heads = kHeads + 2 * kKvHeads};
  test::run_block(kernel, kernel.num_blocks() - 1);
  const int64_t key = (kHeads + kKvHeads - 1) * kDim;  // the last one
  for (int64_t i = 0; i < kDim / 2; ++i) {
    REQUIRE(to_float(last[key + i]) == -number_at(key + kDim / 2 + i));
    REQUIRE(to_float(last[key + kDim / 2 + i]) == number_at(key + i));
  }
}

}  // namespace roll
