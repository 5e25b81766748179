// Runs of tokens that attend together: the bounds of their queries and of their keys on two packed axes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace roll {

/// Piece c: queries cu_queries[c] .. cu_queries[c+1], keys cu_keys[c] .. cu_keys[c+1]; see packed_attention().
struct Pieces {
  std::vector<int64_t> cu_queries, cu_keys;  // [C+1]

  int64_t size() const { return static_cast<int64_t>(cu_queries.size()) - 1; }
  int64_t num_queries(int64_t c) const { return cu_queries[c + 1] - cu_queries[c]; }
  int64_t num_keys(int64_t c) const { return cu_keys[c + 1] - cu_keys[c]; }
};

/// The largest distance between neighbours.
inline int64_t longest_of(const std::vector<int64_t>& cu) {
  int64_t longest = 0;
  for (size_t c = 0; c + 1 < cu.size(); ++c) longest = std::max(longest, cu[c + 1] - cu[c]);
  return longest;
}

}  // namespace roll
