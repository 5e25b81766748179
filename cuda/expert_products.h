// Kernels that multiply rows by the matrices of their experts in the GPU sampler (lib/decode/device_decoder.h):
// MultiplyGroups, once for gate and up and once for down, then CombineExperts. expert_choice.h routes the rows. A row's
// bits do not depend on the other rows.
// Legend: N rows, E hidden size, X experts, K experts that each row chooses. Entries are the choices of all rows,
// sorted by expert.
#pragma once

#include "cuda/expert_choice.h"

// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result): 32-bit indices suffice within a tile.
namespace roll {

/// Shared memory of MultiplyGroups: each warp's sums for eight entries; rows of 20 avoid bank conflicts.
template <class Block>
struct GroupsShared {
  typename Block::template Cell<float> sums[Block::kWarps][2][8][20];
};

/// Kernel: multiplies entries by the matrices of their experts, on tensor cores. Warps divide the inputs; their sums
/// are added in warp order. With `second` (gate and up): gated = silu(x first^T) * (x second^T). Without (down):
/// results = x first^T. T: float, Bf16 or Fp16. kRows: entries per tile. Rows of x and of the matrices are 16-byte
/// aligned. A lane reads 16 bytes of a row at once, so the columns of a product are in another order than in memory,
/// the same in both factors.
template <class T, int kRows>
struct MultiplyGroups {
  static constexpr int kLanes = 256, kVector = 16 / sizeof(T), kChunk = 4 * kVector, kOutputs = 16;
  template <class Block>
  using Shared = GroupsShared<Block>;
  const T* x = nullptr;               // [N, inputs], or without `sources` [N K, inputs]
  const int32_t* sources = nullptr;   // [N K]: row of x of each entry; null: its own
  const T* const* first = nullptr;    // [X]: matrices [outputs, inputs]
  const T* const* second = nullptr;   // [X], or null
  const ExpertTile* tiles = nullptr;  // [max_tiles]
  T* gated = nullptr;                 // [N K, outputs]
  float* results = nullptr;           // [N K, outputs]
  int64_t inputs = 0, outputs = 0, max_tiles = 0;

  /// Returns the outputs per block: 16 of each matrix, or 32 of one.
  ROLL_HOST_DEVICE int32_t block_outputs() const { return second ? kOutputs : 2 * kOutputs; }
  ROLL_HOST_DEVICE int32_t blocks_per_tile() const {
    return (static_cast<int32_t>(outputs) + block_outputs() - 1) / block_outputs();
  }
  int64_t num_blocks() const { return max_tiles * blocks_per_tile(); }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, GroupsShared<Block>& shared, int64_t index) const {
    const auto number = static_cast<int32_t>(index);
    const ExpertTile tile = tiles[number / blocks_per_tile()];
    if (tile.count == 0) return;
    const int32_t from = number % blocks_per_tile() * block_outputs();
    Vector<float, 4> sums[2][kRows / 8] = {};
    multiply(block, tile, from, sums);
    ROLL_UNROLL
    for (int n = 0; n < kRows / 8; ++n) {
      if (8 * n >= tile.count) break;
      share(block, shared, sums[0][n], sums[1][n]);
      block.each(8 * kOutputs, [&](int32_t i) {
        const int32_t row = 8 * n + i / kOutputs, output = from + i % kOutputs;
        if (row >= tile.count) return;
        const int64_t entry = tile.first + row;
        const float one = summed<Block>(shared, 0, i), other = summed<Block>(shared, 1, i);
        if (second) {
          if (output < outputs) roll::store(gated[entry * outputs + output], silu(one) * other);
          return;
        }
        if (output < outputs) results[entry * outputs + output] = one;
        if (output + kOutputs < outputs) results[entry * outputs + output + kOutputs] = other;
      });
    }
  }

 private:
  /// Adds the products of the warp's inputs: sums[m][n] is the lane's fragment of 16 outputs of matrix m (without
  /// `second`, of the outputs from + 16 m on) and 8 entries.
  template <class Block>
  ROLL_KERNEL_TEXT void multiply(const Block& block, const ExpertTile& tile, int32_t from,
                                 Vector<float, 4> (&sums)[2][kRows / 8]) const {
    const int g = block.lane() % kWarp / 4, t = block.lane() % 4, warp = block.lane() / kWarp;
    const auto width = static_cast<int32_t>(inputs), last = static_cast<int32_t>(outputs) - 1;
    const T* matrices[2][2];  // rows g and g + 8 of each
    for (int m = 0; m < 2; ++m)
      for (int r = 0; r < 2; ++r) {
        const int32_t output = from + g + 8 * r + (second ? 0 : kOutputs * m);
        matrices[m][r] = (second && m == 1 ? second : first)[tile.expert] + inputs * (output < last ? output : last);
      }
    const T* rows[kRows / 8];
    ROLL_UNROLL
    for (int n = 0; n < kRows / 8; ++n) {
      const int32_t entry = tile.first + (8 * n + g < tile.count ? 8 * n + g : tile.count - 1);
      rows[n] = x + inputs * (sources ? sources[entry] : entry);
    }
    const int32_t chunks = (width + kChunk - 1) / kChunk, share = (chunks + Block::kWarps - 1) / Block::kWarps;
    const int32_t end = (warp + 1) * share < chunks ? (warp + 1) * share : chunks;
    ROLL_UNROLL_BY(kRows > 16 ? 1 : 4)
    for (int32_t c = warp * share; c < end; ++c) {
      const int32_t k = c * kChunk + t * kVector;
      Packed<4> left[2][2] = {};
      for (int m = 0; m < 2; ++m)
        for (int r = 0; r < 2; ++r)
          if (k < width) left[m][r] = words_at(block, matrices[m][r] + k);
      ROLL_UNROLL
      for (int n = 0; n < kRows / 8; ++n) {
        Packed<4> right = {};
        if (k < width) right = words_at(block, rows[n] + k);
        for (int half = 0; half < 2; ++half)
          for (int m = 0; m < 2; ++m)
            block.template multiply_add<T>(sums[m][n],
                                           {left[m][0].at[2 * half], left[m][1].at[2 * half],
                                            left[m][0].at[2 * half + 1], left[m][1].at[2 * half + 1]},
                                           {right.at[2 * half], right.at[2 * half + 1]});
      }
    }
  }

  /// Puts the warp's fragments into shared memory; ends with a barrier.
  template <class Block>
  static ROLL_KERNEL_TEXT void share(const Block& block, GroupsShared<Block>& shared, const Vector<float, 4>& one,
                                     const Vector<float, 4>& other) {
    const int g = block.lane() % kWarp / 4, t = block.lane() % 4, warp = block.lane() / kWarp;
    for (int r = 0; r < 2; ++r)
      for (int s = 0; s < 2; ++s) {
        shared.sums[warp][0][2 * t + s][g + 8 * r] = one.at[2 * r + s];
        shared.sums[warp][1][2 * t + s][g + 8 * r] = other.at[2 * r + s];
      }
    block.barrier();
  }

  /// Returns sum i of fragment m over the warps.
  template <class Block>
  static ROLL_KERNEL_TEXT float summed(const GroupsShared<Block>& shared, int m, int32_t i) {
    float sum = 0;
    for (int warp = 0; warp < Block::kWarps; ++warp) sum += shared.sums[warp][m][i / kOutputs][i % kOutputs];
    return sum;
  }
};

/// Shared memory of CombineExperts: a row's choices.
template <class Block>
struct CombineShared {
  typename Block::template Cell<int32_t> entries[kMostChosen];
  typename Block::template Cell<float> weights[kMostChosen];
};

/// Kernel: sums = shared expert's result + sum of weight * result over the row's choices; 0 for padding rows. One block
/// per row.
struct CombineExperts {
  static constexpr int kLanes = 256;
  template <class Block>
  using Shared = CombineShared<Block>;
  const float* results = nullptr;        // [N K, E]
  const int32_t* entries = nullptr;      // [N, K]
  const float* weights = nullptr;        // [N, K]
  const float* shared_result = nullptr;  // [N, E], or null
  const float* shared_gate = nullptr;    // element i gate_stride: the logit of the shared result's factor; null: 1
  const StepRow* rows = nullptr;         // [N]
  float* sums = nullptr;                 // [N, E]
  int64_t num_rows = 0, hidden = 0, chosen = 0, gate_stride = 0;  // N, E, K

  int64_t num_blocks() const { return num_rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, CombineShared<Block>& shared, int64_t i) const {
    const auto width = static_cast<int32_t>(hidden), count = static_cast<int32_t>(chosen);
    float* const out = sums + i * hidden;
    if (rows[i].slot < 0) return block.each_fourth(width, [&](int32_t j) { block.store(out + j, Vector<float, 4>{}); });
    block.each(count, [&](int32_t k) {
      shared.entries[k] = entries[i * chosen + k];
      shared.weights[k] = weights[i * chosen + k];
    });
    const float factor = shared_gate ? sigmoid(shared_gate[i * gate_stride]) : 1.0f;
    block.each_fourth(width, [&](int32_t j) {
      Vector<float, 4> sum{};
      if (shared_result) sum = four_at(block, shared_result + i * hidden + j);
      for (float& element : sum.at) element *= factor;
      for (int32_t k = 0; k < count; ++k) {
        const float weight = shared.weights[k];
        const Vector<float, 4> result = four_at(block, results + hidden * shared.entries[k] + j);
        for (int e = 0; e < 4; ++e) sum.at[e] += weight * result.at[e];
      }
      block.store(out + j, sum);
    });
  }
};

}  // namespace roll
// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)
