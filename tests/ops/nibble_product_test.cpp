// Products with weights of 4 bits, of every kind that this processor can run, against float64.
#include "ops/nibble_product.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <limits>

#include "ops/packed_weight.h"

namespace roll {

namespace {

/// Weights as a list of blocks has them: [O, K] float32.
at::Tensor rounded_to_nibbles(const at::Tensor& weight) {
  at::Tensor rounded = at::empty_like(weight);
  for (int64_t first = 0; first < weight.size(1); first += kNibbleBlock) {
    const at::Tensor block = weight.slice(1, first, first + kNibbleBlock);
    const at::Tensor largest = block.gather(1, block.abs().argmax(1, /*keepdim=*/true));
    const at::Tensor scale = (largest / -8).to(at::kBFloat16).to(at::kFloat);
    const at::Tensor steps = (block / scale).nan_to_num(0).round().clamp(-8, 7);
    rounded.slice(1, first, first + kNibbleBlock).copy_(steps * scale);
  }
  return rounded;
}

at::Tensor fixed_rows_of(const at::Tensor& x) {
  at::Tensor rows = at::empty({x.size(0), fixed_row_bytes(x.size(1))}, at::kByte);
  for (int64_t i = 0; i < x.size(0); ++i)
    fix_row(x[i].const_data_ptr<float>(), x.size(1), rows[i].mutable_data_ptr<uint8_t>());
  return rows;
}

/// x times the packed weight: [N, O].
at::Tensor multiply_nibbles(const at::Tensor& weight, const at::Tensor& x) {
  StreamedMemory memory(PackedWeight::room_for(weight.size(0), weight.size(1), at::kQUInt4x2));
  PackedWeight packed(weight.size(0), weight.size(1), at::kQUInt4x2, memory);
  const int64_t half = weight.size(0) / 2;
  packed.fill(0, weight.slice(0, 0, half));
  packed.fill(half, weight.slice(0, half));
  const at::Tensor rows = fixed_rows_of(x), y = at::full({x.size(0), packed.padded_outputs()}, 9.0f);
  for (int64_t panel = 0; panel < packed.num_panels(); ++panel)
    packed.multiply(panel, rows.const_data_ptr<uint8_t>(), rows.size(1), x.size(0),
                    y.mutable_data_ptr<float>() + panel * kPanelWidth, y.size(1), panel + 1);
  CHECK(y.slice(1, weight.size(0)).abs().sum().item<float>() == 0);
  return y.slice(1, 0, weight.size(0));
}

}  // namespace

TEST_CASE("weights of 4 bits multiply as their blocks' scales say, whatever is left over", "[ops]") {
  at::manual_seed(1);
  const int64_t outputs = GENERATE(1, 64, 130), inputs = GENERATE(1, 32, 70, 256);
  const at::Tensor x = at::randn({150, inputs}),
                   weight = at::randn({outputs, inputs}) * at::logspace(-3, 3, outputs).unsqueeze(1);
  const at::Tensor y = multiply_nibbles(weight, x), rounded = rounded_to_nibbles(weight).to(at::kDouble);
  const at::Tensor right = at::mm(x.to(at::kDouble), rounded.t());
  const at::Tensor size = at::mm(x.to(at::kDouble).abs().amax(1, true), rounded.abs().sum(1, true).t());
  CHECK(((y.to(at::kDouble) - right).abs() <= 1e-6 * size).all().item<bool>());
  CHECK((rounded - weight).abs().amax().item<double>() > 0);
}

TEST_CASE("outputs of 4-bit weights that are no numbers are none, and tiny ones are zeros", "[ops]") {
  at::Tensor weight = at::ones({70, 40});
  weight[1][3] = std::numeric_limits<float>::quiet_NaN();
  weight[66][39] = -std::numeric_limits<float>::infinity();
  weight[5].fill_(1e-45f);
  const at::Tensor y = multiply_nibbles(weight, at::ones({2, 40}));
  CHECK(y.isnan().sum().item<int64_t>() == 4);
  CHECK(y.select(1, 1).isnan().all().item<bool>());
  CHECK(y.select(1, 66).isnan().all().item<bool>());
  CHECK(y.select(1, 5).abs().max().item<float>() < 1e-40f);
  CHECK(at::allclose(y.select(1, 0), at::full({2}, 40.0f)));
}

TEST_CASE("each processor multiplies 4-bit weights to the same bits, whatever rows are beside", "[ops]") {
  at::manual_seed(1);
  const int64_t inputs = GENERATE(33, 320), blocks = nibble_blocks(inputs);
  constexpr int64_t kRows = 23, kStride = kPanelWidth + 3;
  const at::Tensor x = at::randn({kRows, inputs}), weight = at::randn({kPanelWidth, inputs}), fixed = fixed_rows_of(x);
  std::vector<NibbleBlock> panel(static_cast<size_t>(blocks));
  for (int64_t output = 0; output < kPanelWidth; ++output)
    round_to_nibbles(weight[output].const_data_ptr<float>(), inputs, output, panel.data());
  at::Tensor first;
  for (const NibbleProduct product : nibble_products()) {
    const auto multiply = [&](int64_t row, int64_t count) {
      at::Tensor y = at::zeros({count, kStride});
      product(panel.data(), blocks,
              {fixed[row].const_data_ptr<uint8_t>(), fixed.size(1), count, y.mutable_data_ptr<float>(), kStride},
              panel.data());
      CHECK(y.slice(1, kPanelWidth).abs().sum().item<float>() == 0);
      return y.slice(1, 0, kPanelWidth).clone();
    };
    const at::Tensor all = multiply(0, kRows);
    if (!first.defined()) first = all;
    CHECK(at::equal(all, first));
    for (const int64_t count : {1, 2, 3, 4, 5, 7}) CHECK(at::equal(multiply(4, count), all.slice(0, 4, 4 + count)));
  }
}

}  // namespace roll
