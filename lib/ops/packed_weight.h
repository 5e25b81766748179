// Weights in the order in which a product with few rows reads them: panels of a few outputs, each one stream. The
// product itself is oneDNN's (LibTorch's brgemm: AVX2, AVX-512, AMX, chosen at run time); it reads weights as fast as
// memory gives them, and a row's result does not depend, to the bit, on the rows beside it.
// Legend: N rows, K inputs, O outputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "ops/streamed_memory.h"

namespace roll {

class PackedWeight {
 public:
  PackedWeight() = default;
  /// Of y = x W^T; `outputs` and `inputs` of W [O, K] in `dtype` (float32 or bfloat16).
  PackedWeight(int64_t outputs, int64_t inputs, at::ScalarType dtype, StreamedMemory& memory);
  /// What it takes of the memory.
  static int64_t room_for(int64_t outputs, int64_t inputs, at::ScalarType dtype);

  /// Rows first_output .. of W, [rows, K] in the same dtype.
  void fill(int64_t first_output, const at::Tensor& weight);

  static constexpr int64_t kPanelWidth = 64;  // long enough to pay for its call, short enough for the caches

  int64_t num_panels() const { return num_panels_; }
  /// Outputs with the padding of the last panel: what a row of y must have room for.
  int64_t padded_outputs() const { return num_panels_ * kPanelWidth; }

  /// y[n, 0 .. kPanelWidth) of the panel's outputs = x W^T, summed in float32. x [N, >= K] in the weight's dtype, rows
  /// `x_stride` apart; y float32. Padding outputs are 0. From any thread.
  void multiply(int64_t panel, const void* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride) const;

  /// To be called on each thread that multiplied, before it does something else for long (AMX's tiles are given back).
  void release() const;

 private:
  int64_t outputs_ = 0, inputs_ = 0, num_panels_ = 0;
  at::Tensor panels_;  // [panels, K, width]; bfloat16: [panels, K/2, width, 2]
};

}  // namespace roll
