// Weights packed for CPU GEMMs with few rows (decode): panels of 64 outputs, each read as one stream. Products use
// panel_product.h; with AMX and bfloat16, oneDNN (LibTorch's brgemm). A row's result has the same bits whatever rows
// are computed with it.
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
  /// Allocates W [`outputs`, `inputs`] of y = x W^T from `memory`, in `dtype`: float32, bfloat16, or int8 with a scale
  /// per output (its largest absolute weight / 127). Bug: another dtype.
  PackedWeight(int64_t outputs, int64_t inputs, at::ScalarType dtype, StreamedMemory& memory);
  /// Returns the bytes that a weight takes of StreamedMemory.
  static int64_t room_for(int64_t outputs, int64_t inputs, at::ScalarType dtype);

  /// Packs `weight` [rows, K], float32 or bfloat16, as the rows of W from `first_output` on.
  void fill(int64_t first_output, const at::Tensor& weight);

  int64_t outputs() const { return outputs_; }
  /// Returns the bytes of the whole packed weight, which a product reads.
  int64_t bytes() const;
  int64_t num_panels() const { return num_panels_; }
  /// Returns the number of outputs, padded to whole panels: the length of a row of y.
  int64_t padded_outputs() const { return num_panels_ * kPanelWidth; }

  /// Writes y[n, 0 .. kPanelWidth) = x W^T for the panel's outputs, summed in float32. x [N, >= K] has the weight's
  /// dtype (either for int8), with rows `x_stride` apart. Padding outputs are 0. `next_panel` is prefetched; it need
  /// not exist. Safe from any thread.
  void multiply(int64_t panel, const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;
  void multiply(int64_t panel, const c10::BFloat16* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;

  /// Releases the thread's AMX tiles. Each thread that multiplied must call it before other work.
  static void release();

 private:
  enum class Order {
    kFloats,
    kPairs,
    kBytes
  };  // kPairs: bfloat16 pairs, as AMX and AVX512-BF16 read them; kBytes: see BytePanel
  static Order weight_order(int64_t inputs, at::ScalarType dtype);
  /// Returns the number of 32-bit words of a panel.
  static int64_t panel_size(int64_t inputs, Order order);
  void fill_bytes(int64_t first_output, const at::Tensor& weight);
  const int32_t* panel_words(int64_t panel) const;

  int64_t outputs_ = 0, inputs_ = 0, num_panels_ = 0;
  Order order_ = Order::kFloats;
  at::Tensor panels_;  // [panels, words] int32: a word holds 1 float32, 2 bfloat16 (inputs) or 4 int8 (outputs)
  at::Tensor scales_;  // [panels * width] float32; int8 only
};

/// Computes x W^T in float32 for bfloat16 x [N, K] and W [O, K] on the CPU. LibTorch's own GEMM would round the result.
class WideProduct {
 public:
  explicit WideProduct(const at::Tensor& weight);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  PackedWeight weight_;
};

}  // namespace roll
