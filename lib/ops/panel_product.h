// CPU GEMM kernels for packed_weight.h: weights in panels of 64 outputs, sums in float32. Each kernel prefetches the
// thread's next panel while it multiplies this one. With few rows, reading the weights takes about as long as
// multiplying, and neither hardware prefetch nor a library's kernel overlaps the two (oneDNN's brgemm: 0.7 of this
// speed at 1 and 32 rows). 8-bit weights are a quarter of the bytes and are widened in registers.
// Legend: N rows, K inputs.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <vector>

namespace roll {

constexpr int64_t kPanelWidth = 64;  // outputs: four AVX-512 vectors

template <class T>
struct RowsOfPanel {
  const T* x;  // [N, >= K], rows x_stride apart
  int64_t x_stride, count;
  float* y;  // [N, 64], rows y_stride apart
  int64_t y_stride;
};
using PanelRows = RowsOfPanel<float>;
using NarrowPanelRows = RowsOfPanel<c10::BFloat16>;

/// 8-bit weights, [K, 16] words: byte b of word w is the code of output 16 b + w, plus 128. A weight is its code times
/// the output's scale.
struct BytePanel {
  const uint32_t* words;
  const float* scales;  // [64]
};

/// Kernels for one kind of processor. `next` is prefetched, a panel long; it need not point to memory. Each output is
/// summed in the order of K, so a row's bits do not depend on other rows.
struct PanelProducts {
  /// Computes y = x panel, panel [K, 64].
  void (*floats)(const float* panel, int64_t inputs, const PanelRows& rows, const float* next);
  void (*bytes)(const BytePanel& panel, int64_t inputs, const PanelRows& rows, const uint32_t* next);
  /// The product in bfloat16: panel [K/2, 64] words of two inputs, K even. Null if the processor lacks AVX512-BF16.
  void (*pairs)(const uint32_t* panel, int64_t inputs, const NarrowPanelRows& rows, const uint32_t* next) = nullptr;
};

/// Returns the kernels that this processor can run, the fastest first.
const std::vector<PanelProducts>& panel_products();

}  // namespace roll
