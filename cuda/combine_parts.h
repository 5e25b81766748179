// Kernel that joins the partial attention results that AttendPages (attend_pages.h) writes if it splits a row's tokens
// among blocks. The device decoder launches it right after. Legend: N rows (tokens), H query heads, D = head_dim.
#pragma once

#include <cfloat>

#include "cuda/decode_kernels.h"

// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result)
// 32-bit indices suffice within a page or tile and cost a GPU half as much.
namespace roll {

/// Kernel: computes `mixed` from `parts`, for the rows [first_row, first_row + num_rows). One block of one warp per row
/// and head. Fields of the same name must equal those of the AttendPages launch. Leaves padding rows (slot -1) as they
/// are. T: type of the output (float, Bf16 or Fp16).
template <class T>
struct CombineParts {
  static constexpr int kLanes = kWarp;  // one lane per split
  template <class Block>
  struct Shared {
    typename Block::template Cell<float> weights[kWarp];
  };
  const float* parts = nullptr;   // [num_rows, H, splits, D + 4]: partial results, written to AttendPages::parts
  const StepRow* rows = nullptr;  // [N]
  T* mixed = nullptr;             // [N, H D]: output
  int64_t first_row = 0, num_rows = 0;
  int64_t heads = 0;
  int64_t splits = 1;    // at most 32
  int64_t head_dim = 0;  // multiple of 4

  int64_t num_blocks() const { return num_rows * heads; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, Shared<Block>& shared, int64_t index) const {
    const int64_t i = first_row * heads + index;  // index into [N, H]
    if (rows[first_row + static_cast<int32_t>(index) / static_cast<int32_t>(heads)].slot < 0) return;
    const auto dim = static_cast<int32_t>(head_dim), count = static_cast<int32_t>(splits), width = dim + 4;
    const float* const row_parts = parts + index * count * width;
    float top = -FLT_MAX, sum = 0;
    if (block.lane() < count) {
      top = row_parts[block.lane() * width + dim];
      sum = row_parts[block.lane() * width + dim + 1];
    }
    const float all_top = block.joined(top, [](float a, float b) { return larger(a, b); });
    const float factor = float_exp2(top - all_top);  // 0 for a part without tokens
    const float total = block.joined(sum * factor, [](float a, float b) { return a + b; });
    shared.weights[block.lane()] = float_quotient(factor, total);
    block.barrier();
    block.each_fourth(dim, [&](int32_t d) {
      Vector<float, 4> mean{};
      for (int32_t s = 0; s < count; ++s) {
        const Vector<float, 4> part_values = block.template load<4>(row_parts + s * width + d);
        const float weight = shared.weights[s];
        for (int e = 0; e < 4; ++e) mean.at[e] += part_values.at[e] * weight;
      }
      block.store(mixed + i * head_dim + d, rounded<T>(mean));
    });
  }
};

}  // namespace roll
// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)
