// Training kernels between the GEMMs of a layer, forward and backward. Each is a kernel struct (lane_block.h) whose
// fields are its arguments; pointers are device memory. launch_layer_kernel.h starts it on a GPU, tests run it on the
// CPU. T: float or Bf16; arithmetic is float32 and each result is rounded once. Backward recomputes intermediate values
// from the input row. The size of a row and all addresses must be multiples of 16 bytes. A kernel's outputs must not
// overlap its inputs or each other. d_x or dx is the gradient of the loss by x. bytes() serves benchmarks and tests.
// Legend: N rows (tokens), E hidden size, I inner size of the MLP, V vocabulary.
#pragma once

#include "cuda/row_vectors.h"

namespace roll {

/// Kernel: sum = x + branch, rounded to T; normed = sum / sqrt(mean(sum^2) + eps) * weight (RMS norm). One block per
/// row.
template <class T>
struct NormRows {
  static constexpr int kLanes = 128;
  template <class>
  using Shared = NoShared;
  const T* x = nullptr;       // [N, E]: residual stream
  const T* branch = nullptr;  // [N, E]: output of the attention or MLP; null: the norm of x alone, `sum` is not written
  const T* weight = nullptr;  // [E]
  T *sum = nullptr, *normed = nullptr;  // [N, E] each
  int64_t rows = 0, width = 0;          // N, E
  float eps = 0, inverse_width = 0;     // inverse_width: 1 / E

  int64_t num_blocks() const { return rows; }
  /// Bytes of device memory read and written.
  int64_t bytes() const { return rows * width * static_cast<int64_t>(sizeof(T)) * (branch ? 4 : 2); }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t row) const {
    const int64_t vectors = width / kVec<T>, first = row * vectors;
    const auto value = [&](int64_t j) {
      Vec<T> vec = load_vec(block, x, first + j);
      if (branch) {
        const Vec<T> added = load_vec(block, branch, first + j);
        for (int i = 0; i < kVec<T>; ++i) store(vec.at[i], to_float(vec.at[i]) + to_float(added.at[i]));
      }
      return vec;
    };
    const float squares = block.sum(vectors, [&](int64_t j) {
      const WideVec<T> loaded = widened(value(j));
      float part = 0;
      for (int i = 0; i < kVec<T>; ++i) part += loaded.at[i] * loaded.at[i];
      return part;
    });
    const float scale = reciprocal_root(squares * inverse_width + eps);
    block.each(vectors, [&](int64_t j) {
      const Vec<T> loaded = value(j), factor = load_vec(block, weight, j);
      Vec<T> out;
      for (int i = 0; i < kVec<T>; ++i) store(out.at[i], to_float(loaded.at[i]) * scale * to_float(factor.at[i]));
      if (branch) store_vec(block, sum, first + j, loaded);
      store_vec(block, normed, first + j, out);
    });
  }
};

/// Kernel: backward of NormRows. Here x is the forward's `sum`; without branch, the forward's x. dx = d_sum + r (g - x
/// r^2 mean(g x)), with g = d_normed * weight and r = 1 / sqrt(mean(x^2) + eps). It is the gradient by both x and
/// branch of the forward. Each block also writes the sum of d_normed x r over its kRows rows, a part of the weight's
/// gradient; SumParts sums the parts.
template <class T>
struct NormRowsBackward {
  static constexpr int kLanes = 128, kRows = 16;
  template <class Block>
  struct Shared {
    typename Block::template Cell<float> scale[kRows], pull[kRows];  // per row: r, r^2 mean(g x)
  };
  const T* x = nullptr;              // [N, E]: input of the norm
  const T* weight = nullptr;         // [E]
  const T* d_normed = nullptr;       // [N, E]
  const T* d_sum = nullptr;          // [N, E]; null: 0
  T* dx = nullptr;                   // [N, E]
  float* d_weight_parts = nullptr;   // [num_blocks(), E]
  int64_t rows = 0, width = 0;       // N, E
  float eps = 0, inverse_width = 0;  // inverse_width: 1 / E

  int64_t num_blocks() const { return (rows + kRows - 1) / kRows; }
  /// Bytes of device memory read and written, each counted once.
  int64_t bytes() const {
    return rows * width * static_cast<int64_t>(sizeof(T)) * (d_sum ? 4 : 3) +
           num_blocks() * width * static_cast<int64_t>(sizeof(float));
  }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, Shared<Block>& shared, int64_t index) const {
    const int64_t vectors = width / kVec<T>, first = index * kRows * vectors;
    const int64_t count = smaller(kRows, rows - index * kRows);
    const int warp = block.lane() / kWarp, lane_in_warp = block.lane() % kWarp;
    for (int64_t row = warp; row < count; row += kLanes / kWarp) {  // one warp per row
      float squares = 0, dots = 0;
      for (int64_t j = lane_in_warp; j < vectors; j += kWarp) {
        const WideVec<T> loaded = load_widened(block, x, first + row * vectors + j),
                         factor = load_widened(block, weight, j),
                         d = load_widened(block, d_normed, first + row * vectors + j);
        for (int i = 0; i < kVec<T>; ++i) {
          squares += loaded.at[i] * loaded.at[i];
          dots += d.at[i] * factor.at[i] * loaded.at[i];
        }
      }
      const auto add = [](float a, float b) { return a + b; };
      squares = block.joined_in_warp(squares, add);
      dots = block.joined_in_warp(dots, add);
      if (lane_in_warp != 0) continue;
      const float r = reciprocal_root(squares * inverse_width + eps);
      shared.scale[row] = r;
      shared.pull[row] = dots * r * r * inverse_width;
    }
    block.barrier();
    block.each(vectors, [&](int64_t j) {
      const WideVec<T> factor = load_widened(block, weight, j);
      WideVec<T> part = {};
      for (int64_t row = 0; row < count; ++row) {
        const int64_t at = first + row * vectors + j;
        const WideVec<T> loaded = load_widened(block, x, at), d = load_widened(block, d_normed, at);
        const Vec<T> passed = d_sum ? load_vec(block, d_sum, at) : Vec<T>{};
        const float r = shared.scale[row], pull = shared.pull[row];
        Vec<T> out;
        for (int i = 0; i < kVec<T>; ++i) {
          const float below = d_sum ? to_float(passed.at[i]) : 0.0f;
          store(out.at[i], below + r * (d.at[i] * factor.at[i] - loaded.at[i] * pull));
          part.at[i] += d.at[i] * loaded.at[i] * r;
        }
        store_vec(block, dx, at, out);
      }
      block.template store<kVec<T>>(d_weight_parts + index * width + j * kVec<T>, part);
    });
  }
};

/// Kernel: out[c] = sum over all rows r of parts[r * stride + c], in a fixed order; if `adds`, plus the old out[c].
/// Used for the partial gradients that the backward kernels write.
struct SumParts {
  static constexpr int kColumns = 32, kSlices = 64, kLanes = 256;
  template <class Block>
  struct Shared {
    typename Block::template Cell<float> sums[kSlices][kColumns];
  };
  const float* parts = nullptr;  // [rows, width], or `width` columns of a wider array
  float* out = nullptr;          // [width]
  int64_t rows = 0, width = 0;   // width: a multiple of 4
  int64_t stride = 0;            // elements from row to row of `parts`; a multiple of 4
  bool adds = false;

  int64_t num_blocks() const { return (width + kColumns - 1) / kColumns; }
  int64_t bytes() const { return (rows + (adds ? 2 : 1)) * width * static_cast<int64_t>(sizeof(float)); }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, Shared<Block>& shared, int64_t index) const {
    constexpr int kVectors = kColumns / 4;
    const int64_t first = index * kVectors, vectors = smaller(kVectors, width / 4 - first);
    block.each(kSlices * kVectors, [&](int64_t i) {
      const int64_t slice = i / kVectors, j = i % kVectors;
      if (j >= vectors) return;
      Vec<float> sum = {};
      const float* from = parts + slice * stride + (first + j) * 4;
      for (int64_t row = slice; row < rows; row += kSlices, from += kSlices * stride) {
        const Vec<float> loaded = load_vec(block, from, 0);
        for (int c = 0; c < 4; ++c) sum.at[c] += loaded.at[c];
      }
      for (int c = 0; c < 4; ++c) shared.sums[slice][j * 4 + c] = sum.at[c];
    });
    block.each(vectors, [&](int64_t j) {
      Vec<float> sum = adds ? load_vec(block, out, first + j) : Vec<float>{};
      for (int slice = 0; slice < kSlices; ++slice)
        for (int c = 0; c < 4; ++c) sum.at[c] += shared.sums[slice][j * 4 + c];
      store_vec(block, out, first + j, sum);
    });
  }
};

/// Kernel: gated = silu(gate) * up, where gate and up are the halves of gate_up's rows.
template <class T>
struct GateRows {
  static constexpr int kLanes = 128, kVectors = 128;  // per block
  template <class>
  using Shared = NoShared;
  const T* gate_up = nullptr;   // [N, 2 I]: gate, then up
  T* gated = nullptr;           // [N, I]
  int64_t rows = 0, inner = 0;  // N, I

  ROLL_HOST_DEVICE int64_t blocks_per_row() const { return (inner / kVec<T> + kVectors - 1) / kVectors; }
  int64_t num_blocks() const { return rows * blocks_per_row(); }
  int64_t bytes() const { return rows * inner * 3 * static_cast<int64_t>(sizeof(T)); }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    const int64_t row = index / blocks_per_row(), first = index % blocks_per_row() * kVectors;
    const int64_t vectors = inner / kVec<T>;
    block.each(smaller(kVectors, vectors - first), [&](int64_t offset) {
      const int64_t j = first + offset;
      const WideVec<T> gate = load_widened(block, gate_up, 2 * row * vectors + j),
                       up = load_widened(block, gate_up, (2 * row + 1) * vectors + j);
      Vec<T> out;
      for (int i = 0; i < kVec<T>; ++i) store(out.at[i], gate.at[i] * float_sigmoid(gate.at[i]) * up.at[i]);
      store_vec(block, gated, row * vectors + j, out);
    });
  }
};

/// Kernel: backward of GateRows; recomputes the sigmoid.
template <class T>
struct GateRowsBackward {
  static constexpr int kLanes = 128, kVectors = 128;  // per block
  template <class>
  using Shared = NoShared;
  const T* gate_up = nullptr;   // [N, 2 I]: input of forward
  const T* d_gated = nullptr;   // [N, I]
  T* d_gate_up = nullptr;       // [N, 2 I]: gradients by gate, then by up
  int64_t rows = 0, inner = 0;  // N, I

  ROLL_HOST_DEVICE int64_t blocks_per_row() const { return (inner / kVec<T> + kVectors - 1) / kVectors; }
  int64_t num_blocks() const { return rows * blocks_per_row(); }
  int64_t bytes() const { return rows * inner * 5 * static_cast<int64_t>(sizeof(T)); }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    const int64_t row = index / blocks_per_row(), first = index % blocks_per_row() * kVectors;
    const int64_t vectors = inner / kVec<T>;
    block.each(smaller(kVectors, vectors - first), [&](int64_t offset) {
      const int64_t j = first + offset, gate_index = 2 * row * vectors + j, up_index = gate_index + vectors;
      const WideVec<T> gate = load_widened(block, gate_up, gate_index), up = load_widened(block, gate_up, up_index),
                       d = load_widened(block, d_gated, row * vectors + j);
      Vec<T> d_gate, d_up;
      for (int i = 0; i < kVec<T>; ++i) {
        const float g = gate.at[i], sigmoid = float_sigmoid(g);
        store(d_gate.at[i], d.at[i] * up.at[i] * sigmoid * (1.0f + g * (1.0f - sigmoid)));
        store(d_up.at[i], d.at[i] * g * sigmoid);
      }
      store_vec(block, d_gate_up, gate_index, d_gate);
      store_vec(block, d_gate_up, up_index, d_up);
    });
  }
};

/// Kernel: backward of an embedding lookup: adds the gradients of the looked-up rows to the gradient of the table. One
/// block per entry of `ids` and section of a row. The block of a table row's first entry sums all gradients of this
/// row, in the order of `tokens`; the other blocks do nothing.
template <class T>
struct AddToRows {
  static constexpr int kLanes = 128;
  template <class>
  using Shared = NoShared;
  const int64_t* ids = nullptr;     // [N]: table rows that were read, one entry per token, ascending
  const int64_t* tokens = nullptr;  // [N]: the token (row of d_rows) that read ids[i]; ascending where ids are equal
  const T* d_rows = nullptr;        // [N, E]: gradients of the looked-up rows, by token
  float* d_table = nullptr;         // [V, E]: added to; only rows in `ids` change
  int64_t rows = 0, width = 0;      // N, E

  ROLL_HOST_DEVICE int64_t blocks_per_row() const { return (width / kVec<T> + kLanes - 1) / kLanes; }
  int64_t num_blocks() const { return rows * blocks_per_row(); }
  /// Upper bound of the bytes read and written, reached if every token read a different table row.
  int64_t bytes() const { return rows * width * static_cast<int64_t>(sizeof(T) + 2 * sizeof(float)) + rows * 16; }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    const int64_t begin = index / blocks_per_row(), first = index % blocks_per_row() * kLanes;
    const int64_t id = ids[begin], vectors = width / kVec<T>;
    if (begin > 0 && ids[begin - 1] == id) return;
    block.each(smaller(kLanes, vectors - first), [&](int64_t offset) {
      const int64_t j = first + offset;
      WideVec<T> sum = {};
      for (int64_t i = begin; i < rows && ids[i] == id; ++i) {
        const WideVec<T> loaded = load_widened(block, d_rows, tokens[i] * vectors + j);
        for (int e = 0; e < kVec<T>; ++e) sum.at[e] += loaded.at[e];
      }
      float* const to = d_table + id * width + j * kVec<T>;
      const WideVec<T> before = block.template load<kVec<T>>(to);
      for (int e = 0; e < kVec<T>; ++e) sum.at[e] += before.at[e];
      block.template store<kVec<T>>(to, sum);
    });
  }
};

}  // namespace roll
