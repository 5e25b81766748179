// Stores weight matrices on the CPU in a layout that makes products with few rows of x fast, for the CPU decoder. The
// layout has panels of 64 outputs, each read as one stream. The kernels are those of panel_product.h. The bits of a
// row's result do not depend on the rows computed with it. Legend: N rows of x and y (tokens), K inputs, O outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/panel_product.h"
#include "ops/streamed_memory.h"

namespace roll {

/// W [O, K] of y = x W^T, in panels of kPanelWidth (64) outputs; padding outputs fill the last panel.
class PackedWeight {
 public:
  PackedWeight() = default;  // no outputs
  /// Allocates W [outputs, inputs] from `memory` with zeros; fill() sets it. `dtype`: float32, bfloat16, int8 with a
  /// scale per output (the largest absolute weight of the output / 127), or kQUInt4x2 for 4 bits with a scale per 32
  /// inputs (nibble_product.h). Throws Bug for another dtype.
  PackedWeight(int64_t outputs, int64_t inputs, at::ScalarType dtype, StreamedMemory& memory);
  /// Returns the bytes that the constructor takes from its StreamedMemory for these arguments.
  static int64_t room_for(int64_t outputs, int64_t inputs, at::ScalarType dtype);

  /// Copies `weight` [n, K], float32 or bfloat16, into outputs first_output .. first_output + n - 1 of W. Rounds to the
  /// dtype of W. Throws Bug if W has another K, or fewer outputs than first_output + n.
  void fill(int64_t first_output, const at::Tensor& weight);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  /// Returns the bytes of the packed weight, which a product over all panels reads once.
  int64_t bytes() const;
  int64_t num_panels() const { return num_panels_; }
  /// Returns O rounded up to whole panels: the number of columns that y needs if all panels are computed.
  int64_t padded_outputs() const { return num_panels_ * kPanelWidth; }

  /// Computes x W^T for the outputs of one panel, summed in float32: x [rows, K], with rows x_stride elements apart.
  /// Writes kPanelWidth elements of each of `rows` rows of y, from `y` on, with rows y_stride elements apart: the
  /// caller passes a pointer to the panel's first column. Padding outputs become 0. x has the weight's dtype; for int8
  /// and 4 bits it has rows in fixed point (fixed_rows.h), x_stride bytes apart. `next_panel`: panel that this thread
  /// computes next, which is prefetched; an index past the last one is allowed. Several threads may call it at once.
  void multiply(int64_t panel, const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;
  void multiply(int64_t panel, const c10::BFloat16* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;
  void multiply(int64_t panel, const uint8_t* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;
  /// Returns true if x must have rows in fixed point.
  bool reads_fixed_rows() const { return order_ == Order::kBytes || order_ == Order::kNibbles; }

  /// Releases the calling thread's AMX tiles (does nothing without AMX). Each thread that called multiply() must call
  /// it when it has computed its panels.
  static void release();

 private:
  /// Order of the weights in a panel. PanelProducts (panel_product.h) describes the first three; kNibbles is a list of
  /// NibbleBlocks (nibble_product.h).
  enum class Order { kFloats, kPairs, kBytes, kNibbles };
  static Order weight_order(int64_t inputs, at::ScalarType dtype);
  /// Returns the number of 32-bit words of a panel.
  static int64_t panel_size(int64_t inputs, Order order);
  void fill_rounded(int64_t first_output, const at::Tensor& weight);
  const int32_t* panel_words(int64_t panel) const;

  int64_t outputs_ = 0, inputs_ = 0, num_panels_ = 0;
  Order order_ = Order::kFloats;
  at::Tensor panels_;   // [panels, words] int32: a word holds 1 float32, or 2 bfloat16 or 4 int8 of as many inputs
  at::Tensor scales_;   // [panels * width] float32; int8 only
  at::Tensor offsets_;  // [panels * width] int32; int8 only
};

/// Matrix product x W^T with a float32 result for bfloat16 operands on the CPU; LibTorch's own would round the result.
class WideProduct {
 public:
  /// Packs W: weight [O, K] bfloat16.
  explicit WideProduct(const at::Tensor& weight);
  /// Returns x W^T: x [N, K] bfloat16 -> [N, O] float32.
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  PackedWeight weight_;
};

}  // namespace roll
