#include "ops/packed_weight.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "ops/panel_product.h"
#include "ops/products.h"
#include "ops/row_ops.h"

namespace roll {

namespace {

constexpr int64_t kRowsAtOnce = 128;   // of x: they stay in the second-level cache beside a panel
constexpr int64_t kRowsPerTask = 256;  // of a product with many rows

int64_t panels_for(int64_t outputs) {
  return (outputs + kPanelWidth - 1) / kPanelWidth;
}

bool goes_in_pairs(int64_t inputs, at::ScalarType dtype) {
  return dtype == at::kBFloat16 && inputs % 2 == 0 && multiplies_bfloat16();
}

/// multiply(first row, their number) for parts of the rows.
template <class F>
void by_rows(int64_t rows, const F& multiply) {
  for (int64_t row = 0; row < rows; row += kRowsAtOnce) multiply(row, std::min(kRowsAtOnce, rows - row));
}

}  // namespace

PackedWeight::PackedWeight(int64_t outputs, int64_t inputs, at::ScalarType dtype, StreamedMemory& memory)
    : outputs_(outputs),
      inputs_(inputs),
      num_panels_(panels_for(outputs)),
      in_pairs_(goes_in_pairs(inputs, dtype)),
      panels_(memory.take({num_panels_, in_pairs_ ? inputs / 2 : inputs, kPanelWidth}, at::kInt).zero_()) {
  ROLL_CHECK(dtype == at::kFloat || dtype == at::kBFloat16, "weights are packed in float32 or bfloat16");
}

int64_t PackedWeight::room_for(int64_t outputs, int64_t inputs, at::ScalarType dtype) {
  const int64_t bytes = goes_in_pairs(inputs, dtype) ? 2 : 4;
  return StreamedMemory::room_for(panels_for(outputs) * kPanelWidth * inputs * bytes);
}

void PackedWeight::fill(int64_t first_output, const at::Tensor& weight) {
  ROLL_CHECK_EQ(weight.size(1), inputs_, "the weight has the inputs that were said");
  ROLL_CHECK(first_output + weight.size(0) <= outputs_, "the rows fit");
  const at::Tensor words = (in_pairs_ ? weight : weight.to(at::kFloat)).contiguous().view(at::kInt);
  const int64_t length = words.size(1), end = first_output + words.size(0);
  const auto* const from = words.const_data_ptr<int32_t>();
  auto* const to = panels_.mutable_data_ptr<int32_t>();
  at::parallel_for(first_output / kPanelWidth, panels_for(end), 1, [&](int64_t first_panel, int64_t end_panel) {
    for (int64_t panel = first_panel; panel < end_panel; ++panel) {
      const int64_t begin = std::max(first_output, panel * kPanelWidth),
                    stop = std::min(end, (panel + 1) * kPanelWidth);
      const auto* const rows = from + (begin - first_output) * length;
      auto* const columns = to + panel * length * kPanelWidth + begin % kPanelWidth;
      for (int64_t k = 0; k < length; ++k)
        for (int64_t n = 0; n < stop - begin; ++n) columns[k * kPanelWidth + n] = rows[n * length + k];
    }
  });
}

void PackedWeight::multiply(int64_t panel, const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                            int64_t next_panel) const {
  const auto* const weight = reinterpret_cast<const float*>(panel_words(panel));
  const auto* const next = reinterpret_cast<const float*>(panel_words(next_panel));
  by_rows(rows, [&](int64_t row, int64_t count) {
    multiply_panel(weight, inputs_, {x + row * x_stride, x_stride, count, y + row * y_stride, y_stride}, next);
  });
}

void PackedWeight::multiply(int64_t panel, const c10::BFloat16* x, int64_t x_stride, int64_t rows, float* y,
                            int64_t y_stride, int64_t next_panel) const {
  if (in_pairs_) {
    const auto* const weight = reinterpret_cast<const c10::BFloat16*>(panel_words(panel));
    return by_rows(rows, [&](int64_t row, int64_t count) {
      at::native::cpublas::brgemm(count, kPanelWidth, inputs_, x_stride, kPanelWidth, y_stride, /*add_C=*/false,
                                  x + row * x_stride, weight, y + row * y_stride);
    });
  }
  by_rows(rows, [&](int64_t row, int64_t count) {
    static thread_local std::vector<float> wide;
    wide.resize(static_cast<size_t>(kRowsAtOnce * inputs_));
    for (int64_t i = 0; i < count; ++i) widen_row(x + (row + i) * x_stride, wide.data() + i * inputs_, inputs_);
    multiply(panel, wide.data(), inputs_, count, y + row * y_stride, y_stride, next_panel);
  });
}

const int32_t* PackedWeight::panel_words(int64_t panel) const {
  return panels_.const_data_ptr<int32_t>() + panel * panels_.size(1) * kPanelWidth;
}

void PackedWeight::release() {
  at::native::cpublas::brgemm_release(multiplies_bfloat16());
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
