// Weights in the order in which a product with few rows reads them: panels of a few outputs, each one stream. Products
// are those of panel_product.h; with AMX, of bfloat16, oneDNN's (LibTorch's brgemm). A row's result does not
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
  /// Room for the weight W [`outputs`, `inputs`] of y = x W^T in `dtype`: float32, bfloat16, or int8 with a scale per
  /// output, the largest of its weights over 127.
  PackedWeight(int64_t outputs, int64_t inputs, at::ScalarType dtype, StreamedMemory& memory);
  /// What it takes of the memory.
  static int64_t room_for(int64_t outputs, int64_t inputs, at::ScalarType dtype);

  /// Rows first_output .. of W, [rows, K] in float32 or bfloat16.
  void fill(int64_t first_output, const at::Tensor& weight);

  int64_t outputs() const { return outputs_; }
  /// Of the whole weight: what a product with it reads.
  int64_t bytes() const;
  int64_t num_panels() const { return num_panels_; }
  /// Outputs with the padding of the last panel: what a row of y must have room for.
  int64_t padded_outputs() const { return num_panels_ * kPanelWidth; }

  /// y[n, 0 .. kPanelWidth) of the panel's outputs = x W^T, summed in float32. x [N, >= K] in the weight's dtype, of
  /// int8 in either, rows `x_stride` apart. Padding outputs are 0. `next_panel`: the one that this thread probably
  /// multiplies next; it need not exist. From any thread.
  void multiply(int64_t panel, const float* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;
  void multiply(int64_t panel, const c10::BFloat16* x, int64_t x_stride, int64_t rows, float* y, int64_t y_stride,
                int64_t next_panel) const;

  /// To be called on each thread that multiplied, before it does something else: gives back AMX's tiles.
  static void release();

 private:
  enum class Order {
    kFloats,
    kPairs,
    kBytes
  };  // kPairs: of bfloat16, as AMX and AVX512-BF16 read them; kBytes: see BytePanel
  static Order order_of(int64_t inputs, at::ScalarType dtype);
  /// Words of a panel.
  static int64_t panel_size(int64_t inputs, Order order);
  void fill_bytes(int64_t first_output, const at::Tensor& weight);
  const int32_t* panel_words(int64_t panel) const;

  int64_t outputs_ = 0, inputs_ = 0, num_panels_ = 0;
  Order order_ = Order::kFloats;
  at::Tensor panels_;  // [panels, words] int32: of each input, of each two, or of four outputs each
  at::Tensor scales_;  // of bytes: [panels * width] float32
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
