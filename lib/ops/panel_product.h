// Kernels for packed_weight.h that multiply rows of x by a panel on the CPU, with sums in float32. A panel holds the
// weights of 64 outputs. Each kernel prefetches the thread's next panel while it multiplies this one. With few rows,
// reading weights takes about as long as multiplying, and neither hardware prefetch nor a library's kernel overlaps the
// two (oneDNN's brgemm: 0.7 of this speed at 1 and 32 rows). 8-bit weights multiply rows in fixed point (fixed_rows.h).
// Legend: N rows of x and y (tokens), K inputs.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <vector>

#include "ops/fixed_rows.h"

namespace roll {

constexpr int64_t kPanelWidth = 64;  // outputs of a panel: four AVX-512 vectors
constexpr int64_t kTileInputs = 32;  // inputs that a tile instruction (tile_product.h) multiplies

/// Returns the number of pairs of inputs in a bfloat16 panel: whole tiles.
constexpr int64_t padded_pairs(int64_t inputs) {
  return (inputs + kTileInputs - 1) / kTileInputs * (kTileInputs / 2);
}

/// The rows that a kernel computes: it reads x and writes y. T is the type of x: float, c10::BFloat16, or uint8_t for
/// the bytes of rows in fixed point.
template <class T>
struct RowsOfPanel {
  const T* x;               // [N, K], rows x_stride elements apart
  int64_t x_stride, count;  // count: N
  float* y;                 // [N, 64], rows y_stride elements apart
  int64_t y_stride;

  /// Returns `num_rows` rows from row `first` on.
  RowsOfPanel part(int64_t first, int64_t num_rows) const {
    return {x + first * x_stride, x_stride, num_rows, y + first * y_stride, y_stride};
  }
};
using PanelRows = RowsOfPanel<float>;
using NarrowPanelRows = RowsOfPanel<c10::BFloat16>;
/// Rows in fixed point; x_stride is in bytes.
using FixedPanelRows = RowsOfPanel<uint8_t>;

/// A panel of 8-bit weights: a weight is its code (-127 to 127) times the scale of its output.
struct BytePanel {
  const int8_t* codes;     // [4, fixed_plane(K) / 4, 16, 4]: for 16 outputs, the codes of four inputs; padding is zero
  const float* scales;     // [64]
  const int32_t* offsets;  // [64]: kTopOffset times the sum of the output's codes
};
/// Returns the place in BytePanel::codes of an output's code for input k.
constexpr int64_t code_place(int64_t inputs, int64_t output, int64_t k) {
  return output / 16 * fixed_plane(inputs) * 16 + k / 4 * 64 + output % 16 * 4 + k % 4;
}
constexpr int64_t kMostByteInputs = 133'000;  // with more inputs a sum could exceed 32 bits

/// Kernels for one kind of processor. Each computes y = x P^T, where P [64, K] holds the panel's weights and K is
/// `inputs`. `next`: the panel to prefetch; it may be an invalid address. An output is summed in the order of the
/// inputs, so that a row's bits do not depend on other rows.
struct PanelProducts {
  /// Multiplies by a float32 panel, stored as [K, 64].
  void (*floats)(const float* panel, int64_t inputs, const PanelRows& rows, const float* next);
  /// Multiplies by an 8-bit panel. All processors compute the same bits.
  void (*bytes)(const BytePanel& panel, int64_t inputs, const FixedPanelRows& rows, const int8_t* next);
  /// Multiplies by a bfloat16 panel, stored as [padded_pairs(K), 64] words: a word has the weights of two inputs, the
  /// first in the low half; padding is zero. K must be even. Null if the processor lacks AVX512-BF16 and tiles.
  void (*pairs)(const uint32_t* panel, int64_t inputs, const NarrowPanelRows& rows, const uint32_t* next) = nullptr;
};

/// Returns the kernels that this processor can run, the fastest first; callers use the first, tests compare all.
const std::vector<PanelProducts>& panel_products();

}  // namespace roll
