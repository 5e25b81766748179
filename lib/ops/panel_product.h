// float32 products with weights in panels of 64 outputs. The panel that the thread needs next is read ahead while this
// one is multiplied: with few rows the weights come from memory about as slowly as they are multiplied, and neither
// the processor's own reading ahead nor a library's kernel (oneDNN's brgemm: 0.7 of this one's speed at 32 rows and at
// one) overlaps the two. Weights of 8 bits are a quarter of that, and are widened in registers on their way. Legend: N
// rows, K inputs.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <vector>

namespace roll {

constexpr int64_t kPanelWidth = 64;  // outputs: four vectors of AVX-512

template <class T>
struct RowsOfPanel {
  const T* x;  // [N, >= K], rows x_stride apart
  int64_t x_stride, count;
  float* y;  // [N, 64], rows y_stride apart
  int64_t y_stride;
};
using PanelRows = RowsOfPanel<float>;
using NarrowPanelRows = RowsOfPanel<c10::BFloat16>;

/// Weights of 8 bits: [K, 16] words, of which byte b of word w is weight + 128 of output 16 b + w. A weight is that
/// many times its output's scale.
struct BytePanel {
  const uint32_t* words;
  const float* scales;  // [64]
};

/// Both for one kind of processor; `next`: what is to be read ahead, as long as a panel; it need not be memory. Each
/// output is summed in the order of K: a row's bits do not depend on its neighbours.
struct PanelProducts {
  /// y = x panel, panel [K, 64].
  void (*floats)(const float* panel, int64_t inputs, const PanelRows& rows, const float* next);
  void (*bytes)(const BytePanel& panel, int64_t inputs, const PanelRows& rows, const uint32_t* next);
  /// Of bfloat16, panel [K/2, 64] words of two inputs, K even; null where the processor does not multiply them
  /// (AVX512-BF16).
  void (*pairs)(const uint32_t* panel, int64_t inputs, const NarrowPanelRows& rows, const uint32_t* next) = nullptr;
};

/// Those that this processor can run, the fastest first.
const std::vector<PanelProducts>& panel_products();

}  // namespace roll
