#include "ops/packed_weight.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "ops/fixed_rows.h"
#include "ops/nibble_product.h"
#include "ops/panel_product.h"
#include "ops/row_ops.h"
#include "ops/tile_product.h"

namespace roll {

namespace {

constexpr int64_t kRowsAtOnce = 128;   // rows of x that stay in the L2 cache beside a panel
constexpr int64_t kRowsPerTask = 256;  // rows of x per task in WideProduct

int64_t panels_for(int64_t outputs) {
  return (outputs + kPanelWidth - 1) / kPanelWidth;
}

constexpr float kLargest = 127;  // largest int8 code

/// An output's weights in an int8 panel.
struct ByteColumn {
  float scale;     // NaN if a weight is not finite, so that the output becomes NaN
  int32_t offset;  // kTopOffset times the sum of the codes
};

/// Rounds K weights to multiples of their scale, and writes the codes of output `output` of a panel.
ByteColumn round_row(const float* weights, int64_t inputs, int64_t output, int8_t* panel) {
  float largest = 0;
  bool is_finite = true;
  for (int64_t k = 0; k < inputs; ++k) {
    largest = std::max(largest, std::fabs(weights[k]));
    is_finite = is_finite && std::isfinite(weights[k]);
  }
  const float scale = largest / kLargest;
  int32_t sum = 0;
  for (int64_t k = 0; k < inputs; ++k) {
    const float steps = is_finite && scale > 0 ? std::clamp(weights[k] / scale, -kLargest, kLargest) : 0;
    const auto code = static_cast<int8_t>(std::lrint(steps));
    panel[code_place(inputs, output, k)] = code;
    sum += code;
  }
  return {is_finite ? scale : std::numeric_limits<float>::quiet_NaN(), kTopOffset * sum};
}

/// Calls multiply() for blocks of rows.
template <class T, class F>
void for_row_blocks(const RowsOfPanel<T>& rows, const F& multiply) {
  for (int64_t row = 0; row < rows.count; row += kRowsAtOnce)
    multiply(rows.part(row, std::min(kRowsAtOnce, rows.count - row)));
}

}  // namespace

PackedWeight::Order PackedWeight::weight_order(int64_t inputs, at::ScalarType dtype) {
  if (dtype == at::kChar) return Order::kBytes;
  if (dtype == at::kQUInt4x2) return Order::kNibbles;
  return dtype == at::kBFloat16 && inputs % 2 == 0 && panel_products().front().pairs ? Order::kPairs : Order::kFloats;
}

int64_t PackedWeight::panel_size(int64_t inputs, Order order) {
  if (order == Order::kNibbles) return nibble_blocks(inputs) * static_cast<int64_t>(sizeof(NibbleBlock) / 4);
  if (order == Order::kPairs) return padded_pairs(inputs) * kPanelWidth;
  return order == Order::kBytes ? fixed_plane(inputs) / 4 * kPanelWidth : inputs * kPanelWidth;
}

PackedWeight::PackedWeight(int64_t outputs, int64_t inputs, at::ScalarType dtype, StreamedMemory& memory)
    : outputs_(outputs),
      inputs_(inputs),
      num_panels_(panels_for(outputs)),
      order_(weight_order(inputs, dtype)),
      panels_(memory.take({num_panels_, panel_size(inputs, order_)}, at::kInt).zero_()) {
  ROLL_CHECK(dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kChar || dtype == at::kQUInt4x2,
             "weights are packed in float32, bfloat16, 8 or 4 bits");
  if (order_ != Order::kBytes) return;
  ROLL_CHECK(inputs <= kMostByteInputs, "sums of int8 products fit 32 bits");
  scales_ = at::zeros({padded_outputs()}, at::kFloat);
  offsets_ = at::zeros({padded_outputs()}, at::kInt);
}

int64_t PackedWeight::room_for(int64_t outputs, int64_t inputs, at::ScalarType dtype) {
  return StreamedMemory::room_for(panels_for(outputs) * panel_size(inputs, weight_order(inputs, dtype)) * 4);
}

int64_t PackedWeight::bytes() const {
  return static_cast<int64_t>(panels_.nbytes() + (scales_.defined() ? scales_.nbytes() + offsets_.nbytes() : 0));
}

void PackedWeight::fill(int64_t first_output, const at::Tensor& weight) {
  ROLL_CHECK_EQ(weight.size(1), inputs_, "the weight has as many inputs as the packed one");
  ROLL_CHECK(first_output + weight.size(0) <= outputs_, "the rows fit");
  if (reads_fixed_rows()) return fill_rounded(first_output, weight.to(at::kFloat).contiguous());
  const at::Tensor words = (order_ == Order::kPairs ? weight : weight.to(at::kFloat)).contiguous().view(at::kInt);
  const int64_t length = words.size(1), end = first_output + words.size(0);
  const auto* const from = words.const_data_ptr<int32_t>();
  auto* const to = panels_.mutable_data_ptr<int32_t>();
  at::parallel_for(first_output / kPanelWidth, panels_for(end), 1, [&](int64_t first_panel, int64_t end_panel) {
    for (int64_t panel = first_panel; panel < end_panel; ++panel) {
      const int64_t begin = std::max(first_output, panel * kPanelWidth),
                    stop = std::min(end, (panel + 1) * kPanelWidth);
      const auto* const rows = from + (begin - first_output) * length;
      auto* const columns = to + panel * panels_.size(1) + begin % kPanelWidth;
      for (int64_t k = 0; k < length; ++k)
        for (int64_t n = 0; n < stop - begin; ++n) columns[k * kPanelWidth + n] = rows[n * length + k];
    }
  });
}

void PackedWeight::fill_rounded(int64_t first_output, const at::Tensor& weight) {
  const auto* const from = weight.const_data_ptr<float>();
  auto* const to = panels_.mutable_data_ptr<int32_t>();
  const bool is_bytes = order_ == Order::kBytes;
  auto* const scales = is_bytes ? scales_.mutable_data_ptr<float>() : nullptr;
  auto* const offsets = is_bytes ? offsets_.mutable_data_ptr<int32_t>() : nullptr;
  at::parallel_for(first_output, first_output + weight.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t output = begin; output < end; ++output) {
      const float* const weights = from + (output - first_output) * inputs_;
      int32_t* const panel = to + output / kPanelWidth * panels_.size(1);
      if (!is_bytes) {
        round_to_nibbles(weights, inputs_, output % kPanelWidth, reinterpret_cast<NibbleBlock*>(panel));
        continue;
      }
      const ByteColumn column = round_row(weights, inputs_, output % kPanelWidth, reinterpret_cast<int8_t*>(panel));
      scales[output] = column.scale;
      offsets[output] = column.offset;
    }
  });
}

void PackedWeight::multiply(int64_t panel, const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                            int64_t next_panel) const {
  const auto* const weight = reinterpret_cast<const float*>(panel_words(panel));
  const auto* const next = reinterpret_cast<const float*>(panel_words(next_panel));
  for_row_blocks(PanelRows{x, x_stride, rows, y, y_stride},
                 [&](const PanelRows& part) { panel_products().front().floats(weight, inputs_, part, next); });
}

void PackedWeight::multiply(int64_t panel, const uint8_t* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                            int64_t next_panel) const {
  const FixedPanelRows all{x, x_stride, rows, y, y_stride};
  if (order_ == Order::kNibbles) {
    const auto* const weight = reinterpret_cast<const NibbleBlock*>(panel_words(panel));
    const auto* const next = reinterpret_cast<const NibbleBlock*>(panel_words(next_panel));
    return for_row_blocks(all, [&](const FixedPanelRows& part) {
      nibble_products().front()(weight, nibble_blocks(inputs_), part, next);
    });
  }
  const BytePanel weight{reinterpret_cast<const int8_t*>(panel_words(panel)),
                         scales_.const_data_ptr<float>() + panel * kPanelWidth,
                         offsets_.const_data_ptr<int32_t>() + panel * kPanelWidth};
  const auto* const next = reinterpret_cast<const int8_t*>(panel_words(next_panel));
  for_row_blocks(all, [&](const FixedPanelRows& part) { panel_products().front().bytes(weight, inputs_, part, next); });
}

void PackedWeight::multiply(int64_t panel, const c10::BFloat16* x, int64_t x_stride, int64_t rows, float* y,
                            int64_t y_stride, int64_t next_panel) const {
  const NarrowPanelRows all{x, x_stride, rows, y, y_stride};
  if (order_ == Order::kPairs) {
    const auto* const weight = reinterpret_cast<const uint32_t*>(panel_words(panel));
    const auto* const next = reinterpret_cast<const uint32_t*>(panel_words(next_panel));
    return for_row_blocks(
        all, [&](const NarrowPanelRows& part) { panel_products().front().pairs(weight, inputs_, part, next); });
  }
  for_row_blocks(all, [&](const NarrowPanelRows& part) {
    static thread_local std::vector<float> wide;
    wide.resize(static_cast<size_t>(kRowsAtOnce * inputs_));
    for (int64_t i = 0; i < part.count; ++i) widen_row(part.x + i * x_stride, wide.data() + i * inputs_, inputs_);
    multiply(panel, wide.data(), inputs_, part.count, part.y, y_stride, next_panel);
  });
}

const int32_t* PackedWeight::panel_words(int64_t panel) const {
  return panels_.const_data_ptr<int32_t>() + panel * panels_.size(1);
}

void PackedWeight::release() {
  release_tiles();
}

WideProduct::WideProduct(const at::Tensor& weight) {
  StreamedMemory memory(PackedWeight::room_for(weight.size(0), weight.size(1), weight.scalar_type()));
  weight_ = PackedWeight(weight.size(0), weight.size(1), weight.scalar_type(), memory);
  weight_.fill(0, weight);
}

at::Tensor WideProduct::operator()(const at::Tensor& x_in) const {
  const at::Tensor x = x_in.contiguous();
  const int64_t rows = x.size(0), inputs = x.size(1), panels = weight_.num_panels();
  at::Tensor y = at::empty({rows, weight_.padded_outputs()}, x.options().dtype(at::kFloat));
  const auto* const from = x.const_data_ptr<c10::BFloat16>();
  auto* const to = y.mutable_data_ptr<float>();
  const int64_t parts = (rows + kRowsPerTask - 1) / kRowsPerTask;
  at::parallel_for(0, parts * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task / panels * kRowsPerTask, panel = task % panels;
      weight_.multiply(panel, from + row * inputs, inputs, std::min(kRowsPerTask, rows - row),
                       to + row * y.size(1) + panel * kPanelWidth, y.size(1), panel + 1);
    }
    PackedWeight::release();
  });
  return y.narrow(1, 0, weight_.outputs()).contiguous();
}

}  // namespace roll
