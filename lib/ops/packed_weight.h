// Weights in the order in which a product with few rows reads them: panels of a few outputs, each one stream. Products
// of float32 are those of panel_product.h, of bfloat16 oneDNN's (LibTorch's brgemm, with AMX). A row's result does not
// depend, to the bit, on the rows beside it.
// Legend: N rows, K inputs, O outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/panel_product.h"
#include "ops/streamed_memory.h"

namespace roll {

class PackedWeight {
 public:
  PackedWeight() = default;
  /// Room for the weight W [`outputs`, `inputs`] of y = x W^T in `dtype`, float32 or bfloat16.
  PackedWeight(int64_t outputs, int64_t inputs, at::ScalarType dtype, StreamedMemory& memory);
  /// What it takes of the memory.
  static int64_t room_for(int64_t outputs, int64_t inputs, at::ScalarType dtype);

  /// Rows first_output .. of W, [rows, K] in the same dtype.
  void fill(int64_t first_output, const at::Tensor& weight);

  int64_t outputs() const { return outputs_; }
  int64_t num_panels() const { return num_panels_; }
  /// Outputs with the padding of the last panel: what a row of y must have room for.
  int64_t padded_outputs() const { return num_panels_ * kPanelWidth; }

  /// y[n, 0 .. kPanelWidth) of the panel's outputs = x W^T, summed in float32. x [N, >= K] in the weight's dtype, rows
  /// `x_stride` apart. Padding outputs are 0. `next_panel`: the one that this thread probably multiplies next; it need
  /// not exist. From any thread.
  void multiply(int64_t panel, const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;
  void multiply(int64_t panel, const c10::BFloat16* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;

  /// To be called on each thread that multiplied, before it does something else: gives back AMX's tiles.
  static void release();

 private:
  const int32_t* panel_words(int64_t panel) const;

  int64_t outputs_ = 0, inputs_ = 0, num_panels_ = 0;
  bool in_pairs_ = false;  // of bfloat16, as AMX reads them
  at::Tensor panels_;      // [panels, K or K/2, width] int32: words of float32, or of two inputs
};

/// x W^T in float32: x [N, K] and W [O, K] in bfloat16 on the CPU. LibTorch's own product would round its result.
class WideProduct {
 public:
  explicit WideProduct(const at::Tensor& weight);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  PackedWeight weight_;
};

}  // namespace roll
