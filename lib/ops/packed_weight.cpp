#include "ops/packed_weight.h"

#include <ATen/ATen.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>

#include "base/error.h"

namespace roll {

namespace {

constexpr int64_t kRowsAtOnce = 128;  // of x: they stay in the second-level cache beside a panel

int64_t panels_for(int64_t outputs) {
  return (outputs + PackedWeight::kPanelWidth - 1) / PackedWeight::kPanelWidth;
}

}  // namespace

PackedWeight::PackedWeight(int64_t outputs, int64_t inputs, StreamedMemory& memory)
    : outputs_(outputs),
      inputs_(inputs),
      num_panels_(panels_for(outputs)),
      panels_(memory.take({num_panels_, inputs, kPanelWidth}, at::kFloat).zero_()) {}

int64_t PackedWeight::room_for(int64_t outputs, int64_t inputs) {
  return StreamedMemory::room_for(panels_for(outputs) * kPanelWidth * inputs * static_cast<int64_t>(sizeof(float)));
}

void PackedWeight::fill(int64_t first_output, const at::Tensor& weight) {
  ROLL_CHECK_EQ(weight.size(1), inputs_, "the weight has the inputs that were said");
  ROLL_CHECK(first_output + weight.size(0) <= outputs_, "the rows fit");
  for (int64_t row = 0; row < weight.size(0);) {
    const int64_t output = first_output + row, panel = output / kPanelWidth, column = output % kPanelWidth;
    const int64_t count = std::min(weight.size(0) - row, kPanelWidth - column);
    panels_.select(0, panel).narrow(1, column, count).copy_(weight.narrow(0, row, count).t());
    row += count;
  }
}

void PackedWeight::multiply(int64_t panel, const float* x, int64_t x_stride, int64_t rows, float* y,
                            int64_t y_stride) const {
  const int64_t offset = panel * inputs_ * kPanelWidth;
  for (int64_t row = 0; row < rows; row += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, rows - row);
    at::native::cpublas::brgemm(count, kPanelWidth, inputs_, x_stride, kPanelWidth, y_stride, /*add_C=*/false,
                                x + row * x_stride, panels_.const_data_ptr<float>() + offset, y + row * y_stride);
  }
}

}  // namespace roll
