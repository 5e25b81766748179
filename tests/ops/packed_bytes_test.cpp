// Products with weights of 8 bits, of every kind that this processor can run, against float64.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <limits>

#include "ops/fixed_rows.h"
#include "ops/packed_weight.h"
#include "ops/tile_product.h"

namespace roll {

namespace {

/// Rows in fixed point: [N, bytes].
at::Tensor fix_rows(const at::Tensor& x) {
  at::Tensor rows = at::empty({x.size(0), fixed_row_bytes(x.size(1))}, at::kByte);
  for (int64_t i = 0; i < x.size(0); ++i) {
    auto* const row = rows[i].mutable_data_ptr<uint8_t>();
    if (x.scalar_type() == at::kFloat)
      fix_row(x[i].const_data_ptr<float>(), x.size(1), row);
    else
      fix_row(x[i].const_data_ptr<c10::BFloat16>(), x.size(1), row);
  }
  return rows;
}

/// The rows of x times all panels of a packed weight: [N, O].
at::Tensor multiply_all(const PackedWeight& packed, const at::Tensor& x) {
  at::Tensor y = at::full({x.size(0), packed.padded_outputs()}, 9.0f);
  const at::Tensor rows = fix_rows(x);
  for (int64_t panel = 0; panel < packed.num_panels(); ++panel)
    packed.multiply(panel, rows.const_data_ptr<uint8_t>(), rows.size(1), x.size(0),
                    y.mutable_data_ptr<float>() + panel * kPanelWidth, y.size(1), panel + 1);
  return y;
}

PackedWeight pack_bytes(const at::Tensor& weight) {
  StreamedMemory memory(PackedWeight::room_for(weight.size(0), weight.size(1), at::kChar));
  PackedWeight packed(weight.size(0), weight.size(1), at::kChar, memory);
  const int64_t half = weight.size(0) / 2;
  packed.fill(0, weight.slice(0, 0, half));
  packed.fill(half, weight.slice(0, half));
  return packed;
}

}  // namespace

TEST_CASE("weights of 8 bits multiply as their outputs' scales say, whatever is left over", "[ops]") {
  at::manual_seed(1);
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const int64_t outputs = GENERATE(1, 64, 130), inputs = GENERATE(1, 33, 256);
  const at::Tensor x = at::randn({200, inputs}).to(dtype);
  at::Tensor weight = (at::randn({outputs, inputs}) * at::logspace(-3, 3, outputs).unsqueeze(1)).to(dtype);
  const PackedWeight packed = pack_bytes(weight);
  const at::Tensor y = multiply_all(packed, x), w = weight.to(at::kFloat);
  const at::Tensor scale = w.abs().amax(1, true) / 127, steps = (w / scale).round();
  const at::Tensor right = at::mm(x.to(at::kDouble), steps.to(at::kDouble).t());
  // An element of x is wrong by half a step of fixed point at most.
  const at::Tensor largest_error =
      at::mm((x.to(at::kDouble).abs().amax(1, true) / (2 << 20)), steps.to(at::kDouble).abs().sum(1, true).t());
  const at::Tensor error = (y.slice(1, 0, outputs).to(at::kDouble) / scale.t() - right).abs();
  CHECK((error <= 1.01 * largest_error + 1e-5 * right.abs() + 1e-6).all().item<bool>());
  CHECK(y.slice(1, outputs).abs().sum().item<float>() == 0);
  for (const int64_t rows : {1, 2, 5, 7, 13})
    CHECK(at::equal(multiply_all(packed, x.slice(0, 3, 3 + rows).contiguous()), y.slice(0, 3, 3 + rows)));
}

TEST_CASE("a weight of 8 bits is half a step from its own, at most", "[ops]") {
  at::manual_seed(1);
  at::Tensor weight = at::randn({70, 40});
  weight[3].zero_();
  weight[4].mul_(1e-40f);
  weight[5].mul_(1e37f);
  const at::Tensor found = multiply_all(pack_bytes(weight), at::eye(40)).slice(1, 0, 70).t();
  const at::Tensor step = weight.abs().amax(1, true) / 127;
  CHECK((found - weight).abs().le(0.5001 * step + 1e-42f).all().item<bool>());
}

TEST_CASE("outputs of weights that are no numbers are none", "[ops]") {
  at::Tensor weight = at::ones({70, 20});
  weight[1][3] = std::numeric_limits<float>::quiet_NaN();
  weight[66][19] = -std::numeric_limits<float>::infinity();
  const at::Tensor y = multiply_all(pack_bytes(weight), at::ones({2, 20})).slice(1, 0, 70);
  CHECK(y.isnan().sum().item<int64_t>() == 4);
  CHECK(y.select(1, 1).isnan().all().item<bool>());
  CHECK(y.select(1, 66).isnan().all().item<bool>());
}

TEST_CASE("a row of x that holds no number gives none, and a row near zero gives zeros", "[ops]") {
  at::manual_seed(1);
  at::Tensor x = at::randn({4, 20});
  x[0][3] = std::numeric_limits<float>::quiet_NaN();
  x[1][19] = -std::numeric_limits<float>::infinity();
  x[2].mul_(1e-38f);
  const at::Tensor y = multiply_all(pack_bytes(at::randn({70, 20})), x).slice(1, 0, 70);
  CHECK(y.slice(0, 0, 2).isnan().all().item<bool>());
  CHECK(y[2].eq(0).all().item<bool>());
  CHECK(y[3].isfinite().all().item<bool>());
}

TEST_CASE("each processor's products of panels are float64's, and a row's bits are its own", "[ops]") {
  at::manual_seed(1);
  constexpr int64_t kInputs = 70, kRows = 53, kStride = kPanelWidth + 3;
  const at::Tensor x = at::randn({kRows, kInputs}), panel = at::randn({kInputs, kPanelWidth});
  const at::Tensor codes = at::randint(-127, 128, {kInputs, kPanelWidth}, at::kChar), scales = at::rand({kPanelWidth});
  at::Tensor bytes = at::zeros({fixed_plane(kInputs), kPanelWidth}, at::kChar);
  bytes.slice(0, 0, kInputs).copy_(codes);
  bytes = bytes.view({-1, 4, 4, 16}).permute({2, 0, 3, 1}).contiguous();  // [outputs / 16, inputs / 4, 16, 4]
  const at::Tensor offsets = (codes.to(at::kInt).sum(0) * kTopOffset).to(at::kInt), fixed = fix_rows(x);
  const at::Tensor whole = codes.to(at::kDouble) * scales;
  const auto* const first_code = bytes.const_data_ptr<int8_t>();
  at::Tensor first_bytes;  // the first processor's products with bytes; all others' have the same bits
  for (const PanelProducts& products : panel_products()) {
    const auto multiply = [&](bool is_bytes, int64_t first, int64_t count) {
      at::Tensor y = at::zeros({count, kStride});
      auto* const out = y.mutable_data_ptr<float>();
      if (is_bytes)
        products.bytes({first_code, scales.const_data_ptr<float>(), offsets.const_data_ptr<int32_t>()}, kInputs,
                       {fixed[first].const_data_ptr<uint8_t>(), fixed.size(1), count, out, kStride}, first_code);
      else
        products.floats(panel.const_data_ptr<float>(), kInputs,
                        {x[first].const_data_ptr<float>(), kInputs, count, out, kStride},
                        panel.const_data_ptr<float>());
      CHECK(y.slice(1, kPanelWidth).abs().sum().item<float>() == 0);
      return y.slice(1, 0, kPanelWidth).clone();
    };
    if (products.pairs) {
      const at::Tensor narrow_x = x.to(at::kBFloat16), narrow = panel.to(at::kBFloat16);
      at::Tensor pairs = at::zeros({padded_pairs(kInputs), kPanelWidth, 2}, at::kBFloat16);
      pairs.slice(0, 0, kInputs / 2).copy_(narrow.view({kInputs / 2, 2, kPanelWidth}).transpose(1, 2));
      const auto* const pair_words = static_cast<const uint32_t*>(pairs.const_data_ptr());
      const auto multiply_pairs = [&](const at::Tensor& from, int64_t first, int64_t count) {
        at::Tensor y = at::zeros({count, kStride});
        products.pairs(
            pair_words, kInputs,
            {from[first].const_data_ptr<c10::BFloat16>(), kInputs, count, y.mutable_data_ptr<float>(), kStride},
            pair_words);
        CHECK(y.slice(1, kPanelWidth).abs().sum().item<float>() == 0);
        return y.slice(1, 0, kPanelWidth).clone();
      };
      const at::Tensor all = multiply_pairs(narrow_x, 0, kRows);
      CHECK(at::allclose(all.to(at::kDouble), at::mm(narrow_x.to(at::kDouble), narrow.to(at::kDouble)), 1e-5, 1e-4));
      for (const int64_t count : {1, 2, 5, 6, 7, 8, 16, 17, 33, 49})
        CHECK(at::equal(multiply_pairs(narrow_x, 4, count), all.slice(0, 4, 4 + count)));
      at::Tensor beside = narrow_x.clone();
      beside[5].fill_(std::numeric_limits<float>::quiet_NaN());
      CHECK(at::equal(multiply_pairs(beside, 4, 1), all.slice(0, 4, 5)));
    }
    for (const bool is_bytes : {false, true}) {
      const at::Tensor all = multiply(is_bytes, 0, kRows);
      CHECK(at::allclose(all.to(at::kDouble), at::mm(x.to(at::kDouble), is_bytes ? whole : panel.to(at::kDouble)), 1e-5,
                         1e-3));
      for (const int64_t count : {1, 2, 3, 6, 7, 8, 16, 17, 49})
        CHECK(at::equal(multiply(is_bytes, 4, count), all.slice(0, 4, 4 + count)));
      if (!is_bytes) continue;
      if (!first_bytes.defined()) first_bytes = all;
      CHECK(at::equal(all, first_bytes));
    }
    release_tiles();
  }
}

}  // namespace roll
