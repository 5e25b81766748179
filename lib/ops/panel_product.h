// float32 products with weights in panels of 64 outputs. The panel that the thread needs next is read ahead while this
// one is multiplied: with few rows the weights come from memory about as slowly as they are multiplied, and neither
// the processor's own reading ahead nor a library's kernel (oneDNN's brgemm: 0.7 of this one's speed at 32 rows and at
// one) overlaps the two. Legend: N rows, K inputs.
#pragma once

#include <cstdint>

namespace roll {

constexpr int64_t kPanelWidth = 64;  // outputs: four vectors of AVX-512

struct PanelRows {
  const float* x;  // [N, >= K], rows x_stride apart
  int64_t x_stride, count;
  float* y;  // [N, 64], rows y_stride apart
  int64_t y_stride;
};

/// y = x panel, panel [K, 64]. Each output is summed in the order of K: a row's bits do not depend on its neighbours.
/// `next`: what is to be read ahead, as long as a panel; it need not be memory.
void multiply_panel(const float* panel, int64_t inputs, const PanelRows& rows, const float* next);

}  // namespace roll
