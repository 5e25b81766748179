// The kernels of attention over pages; decode_kernels.h has the others, the legend and the layout of pages.
#pragma once

#include "cuda/decode_kernels.h"

namespace roll {

template <class Block, int kQueries>
struct AttendShared {
  static constexpr int kTile = 128;
  using Cell = typename Block::template Cell<float>;
  Cell q[kQueries][kMaxHeadDim], mixed[kQueries][kMaxHeadDim];
  Cell scores[kQueries * kTile], parts[2 * kTile * kQueries];
  Cell top[kQueries], sum[kQueries], factor[kQueries], tile_top[kQueries], tile_sum[kQueries];
};

/// Attention of a row's heads over the tokens up to its own. A block for each row, each kQueries heads of a group that
/// share a key/value head, and each of `splits` parts of the tokens; where there is more than one, CombineParts joins.
template <class T, int kQueries>
struct AttendPages {
  template <class Block>
  using Shared = AttendShared<Block, kQueries>;
  static constexpr int kTile = 128, kLanes = kTile;
  const T* qkv = nullptr;
  const StepRow* rows = nullptr;
  PagedLayer<T> layer;
  T* mixed = nullptr;      // [N, H D]
  float* parts = nullptr;  // [N, H, splits, D + 2]: sums of weighted values, the largest score, the sum of weights
  int64_t num_rows = 0, heads = 0, splits = 1;
  float scale = 1;

  ROLL_HOST_DEVICE int64_t group() const { return heads / layer.kv_heads; }
  ROLL_HOST_DEVICE int64_t bundles() const { return (group() + kQueries - 1) / kQueries; }
  int64_t num_blocks() const { return num_rows * layer.kv_heads * bundles() * splits; }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, Shared<Block>& shared, int64_t index) const {
    const int64_t split = index % splits, bundle = index / splits % bundles();
    const int64_t kv_head = index / (splits * bundles()) % layer.kv_heads;
    const int64_t i = index / (splits * bundles() * layer.kv_heads);
    const StepRow row = rows[i];
    const int64_t dim = layer.head_dim, first_head = kv_head * group() + bundle * kQueries;
    const int64_t left = group() - bundle * kQueries, num_queries = left < kQueries ? left : kQueries;
    if (row.slot < 0) {
      if (split == 0) block.each(num_queries * dim, [&](int64_t j) { store(out(i, first_head)[j], 0); });
      return;
    }
    const T* const q = qkv + (i * (heads + 2 * layer.kv_heads) + first_head) * dim;
    block.each(kQueries * dim, [&](int64_t j) {
      shared.q[j / dim][j % dim] = j < num_queries * dim ? to_float(q[j]) * scale : 0.0f;
      shared.mixed[j / dim][j % dim] = 0;
    });
    block.each(kQueries, [&](int64_t k) {
      shared.top[k] = -INFINITY;
      shared.sum[k] = 0;
    });
    const int64_t length = row.position + 1, tiles = (length + kTile - 1) / kTile;
    const int64_t each = (tiles + splits - 1) / splits * kTile, begin = split * each;
    const int64_t end = begin + each < length ? begin + each : length;
    for (int64_t tile = begin; tile < end; tile += kTile)
      add_tile(block, shared, row.slot, kv_head, tile, end - tile < kTile ? end - tile : kTile);
    block.each(num_queries * dim, [&](int64_t j) {
      const int64_t k = j / dim, d = j % dim;
      if (splits == 1)
        store(out(i, first_head)[j], shared.mixed[k][d] / shared.sum[k]);
      else
        part(i, first_head + k, split)[d] = shared.mixed[k][d];
    });
    if (splits > 1)
      block.each(num_queries, [&](int64_t k) {
        part(i, first_head + k, split)[dim] = shared.top[k];
        part(i, first_head + k, split)[dim + 1] = shared.sum[k];
      });
  }

 private:
  ROLL_HOST_DEVICE T* out(int64_t i, int64_t head) const { return mixed + (i * heads + head) * layer.head_dim; }
  ROLL_HOST_DEVICE float* part(int64_t i, int64_t head, int64_t split) const {
    return parts + ((i * heads + head) * splits + split) * (layer.head_dim + 2);
  }

  /// Tokens [first, first + count), count > 0.
  template <class Block>
  ROLL_KERNEL_TEXT void add_tile(const Block& block, Shared<Block>& shared, int64_t slot, int64_t kv_head,
                                 int64_t first, int64_t count) const {
    block.each(kTile, [&](int64_t j) { score_key<Block>(shared, slot, kv_head, first + j, j, j < count); });
    block.largest_chunks(
        kQueries * kTile, kTile, [&](int64_t j) -> float { return shared.scores[j]; }, shared.tile_top);
    block.each(kQueries, [&](int64_t k) {
      const float top = larger<float>(shared.top[k], shared.tile_top[k]);
      shared.factor[k] = expf(shared.top[k] - top);  // 0 before the first tile
      shared.top[k] = top;
    });
    const auto weight = [&](int64_t j) {
      const float own = expf(shared.scores[j] - shared.top[j / kTile]);
      shared.scores[j] = own;
      return own;
    };
    block.sum_chunks(kQueries * kTile, kTile, weight, shared.tile_sum);
    mix_values(block, shared, slot, kv_head, first, count);
    block.each(kQueries, [&](int64_t k) { shared.sum[k] = shared.sum[k] * shared.factor[k] + shared.tile_sum[k]; });
  }

  /// One lane's key against all queries.
  template <class Block>
  ROLL_KERNEL_TEXT void score_key(Shared<Block>& shared, int64_t slot, int64_t kv_head, int64_t position, int64_t j,
                                  bool is_seen) const {
    constexpr int64_t kVector = PagedLayer<T>::kVector;
    float scores[kQueries] = {};
    for (int64_t d = 0; is_seen && d < layer.head_dim; d += kVector) {
      struct alignas(16) Vector {
        T at[kVector];
      };
      const Vector key = *reinterpret_cast<const Vector*>(layer.keys + layer.key_at(slot, position, kv_head, d));
      for (int e = 0; e < kVector; ++e)
        for (int k = 0; k < kQueries; ++k) scores[k] += shared.q[k][d + e] * to_float(key.at[e]);
    }
    for (int k = 0; k < kQueries; ++k) shared.scores[k * kTile + j] = is_seen ? scores[k] : -INFINITY;
  }

  /// mixed = mixed * factor + the weighted values. Lanes share the tokens in as many groups as have two columns for
  /// each lane.
  template <class Block>
  ROLL_KERNEL_TEXT void mix_values(const Block& block, Shared<Block>& shared, int64_t slot, int64_t kv_head,
                                   int64_t first, int64_t count) const {
    const int64_t dim = layer.head_dim, pairs = dim / 2, groups = kLanes / pairs;
    block.each(groups * pairs, [&](int64_t lane) {
      const int64_t group = lane / pairs, d = lane % pairs * 2;
      float sums[kQueries][2] = {};
      for (int64_t j = group; j < count; j += groups) {
        const T* const value = layer.values + layer.value_at(slot, first + j, kv_head) + d;
        const float v0 = to_float(value[0]), v1 = to_float(value[1]);
        for (int k = 0; k < kQueries; ++k) {
          sums[k][0] += shared.scores[k * kTile + j] * v0;
          sums[k][1] += shared.scores[k * kTile + j] * v1;
        }
      }
      for (int k = 0; k < kQueries; ++k)
        for (int e = 0; e < 2; ++e) shared.parts[(group * kQueries + k) * dim + d + e] = sums[k][e];
    });
    block.each(kQueries * dim, [&](int64_t j) {
      float sum = shared.mixed[j / dim][j % dim] * shared.factor[j / dim];
      for (int64_t group = 0; group < groups; ++group) sum += shared.parts[group * kQueries * dim + j];
      shared.mixed[j / dim][j % dim] = sum;
    });
  }
};

/// A block for each row's head.
template <class T>
struct CombineParts {
  static constexpr int kLanes = 64;
  template <class>
  using Shared = NoShared;
  const float* parts = nullptr;  // of AttendPages
  const StepRow* rows = nullptr;
  T* mixed = nullptr;  // [N, H D]
  int64_t num_rows = 0, heads = 0, splits = 1, head_dim = 0;

  int64_t num_blocks() const { return num_rows * heads; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    if (rows[index / heads].slot < 0) return;
    const int64_t width = head_dim + 2;
    const float* const own = parts + index * splits * width;
    block.each(head_dim, [&](int64_t d) {
      float top = own[head_dim];
      for (int64_t s = 1; s < splits; ++s) top = own[s * width + head_dim] > top ? own[s * width + head_dim] : top;
      float sum = 0, all = 0;
      for (int64_t s = 0; s < splits; ++s) {
        const float factor = expf(own[s * width + head_dim] - top);  // 0 of a part without tokens
        sum += own[s * width + d] * factor;
        all += own[s * width + head_dim + 1] * factor;
      }
      store(mixed[index * head_dim + d], sum / all);
    });
  }
};

}  // namespace roll
