// Kernels for packed_weight.h that multiply rows of x by a panel on the CPU, with sums in float32. A panel holds the
// weights of 64 outputs. Each kernel prefetches the thread's next panel while it multiplies this one. With few rows,
// reading weights takes about as long as multiplying, and neither hardware prefetch nor a library's kernel overlaps the
// two (oneDNN's brgemm: 0.7 of this speed at 1 and 32 rows). 8-bit weights are widened to float32 in registers.
// Legend: N rows of x and y (tokens), K inputs.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <vector>

namespace roll {

constexpr int64_t kPanelWidth = 64;  // outputs of a panel: four AVX-512 vectors

/// The rows that a kernel computes: it reads x and writes y. T is the type of x: float or c10::BFloat16.
template <class T>
struct RowsOfPanel {
  const T* x;               // [N, K], rows x_stride elements apart
  int64_t x_stride, count;  // count: N
  float* y;                 // [N, 64], rows y_stride elements apart
  int64_t y_stride;
};
using PanelRows = RowsOfPanel<float>;
using NarrowPanelRows = RowsOfPanel<c10::BFloat16>;

/// A panel of 8-bit weights: a weight is its code (-127 to 127) times the scale of its output.
struct BytePanel {
  const uint32_t* words;  // [K, 16]: byte b of word w (0: lowest) is the code of output 16 b + w, plus 128
  const float* scales;    // [64]
};

/// Kernels for one kind of processor. Each computes y = x P^T, where P [64, K] holds the panel's weights and K is
/// `inputs`. `next`: the panel to prefetch; it may be an invalid address. An output is summed in the order of the
/// inputs, so that a row's bits do not depend on other rows.
struct PanelProducts {
  /// Multiplies by a float32 panel, stored as [K, 64].
  void (*floats)(const float* panel, int64_t inputs, const PanelRows& rows, const float* next);
  /// Multiplies by an 8-bit panel.
  void (*bytes)(const BytePanel& panel, int64_t inputs, const PanelRows& rows, const uint32_t* next);
  /// Multiplies by a bfloat16 panel, stored as [K / 2, 64] words: a word has the weights of two inputs, the first in
  /// the low half. K must be even. Null if the processor lacks AVX512-BF16.
  void (*pairs)(const uint32_t* panel, int64_t inputs, const NarrowPanelRows& rows, const uint32_t* next) = nullptr;
};

/// Returns the kernels that this processor can run, the fastest first; callers use the first, tests compare all.
const std::vector<PanelProducts>& panel_products();

}  // namespace roll
