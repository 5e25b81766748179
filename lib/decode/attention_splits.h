// Division of the attention of few rows over blocks of the GPU, for device_decoder.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/attend_pages.h"
#include "decode/rows.h"

namespace roll {

/// The splits of AttendPages (cuda/attend_pages.h) for single rows. T: the type of keys and values.
template <class T>
struct AttentionSplits {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;  // on this rank
  int64_t max_length = 0;                         // tokens of the longest sequence
  int64_t target_blocks = 0;                      // blocks that fill the device

  /// Returns the number of token splits of num_rows rows, such that all blocks run in one wave: a partial wave would
  /// take as long as a full one.
  int64_t for_rows(int64_t num_rows) const {
    using Attend = AttendPages<T, kMaxHeadDim>;
    const int64_t blocks = num_rows * kv_heads * ceil_quotient(heads / kv_heads, Attend::kQueries);
    const int64_t pieces = ceil_quotient(max_length, Attend::kTile * Attend::kLanes / kWarp);
    return std::clamp<int64_t>(target_blocks / blocks, 1, std::min<int64_t>(32, pieces));
  }

  /// Returns the largest size of AttendPages::parts for up to max_rows rows, in elements.
  int64_t most_parts(int64_t max_rows) const {
    int64_t largest = 0;
    for (int64_t n = 1; n <= max_rows && for_rows(n) > 1; ++n) largest = std::max(largest, n * for_rows(n));
    return largest * heads * (head_dim + 4);
  }
};

}  // namespace roll
