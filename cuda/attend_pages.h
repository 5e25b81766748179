// Paged-attention kernel of the sampler, launched by the device decoder (launch_kernel.h). Layout of the key/value
// pages: PagedLayer in decode_kernels.h. Legend: N rows of a step (tokens), H query heads, Hkv key/value heads, D =
// head_dim. A lane is a thread, a block a thread block (lane_block.h).
#pragma once

#include <cfloat>

#include "cuda/decode_kernels.h"
#include "cuda/device_math.h"

// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result,readability-misleading-indentation)
// First: 32-bit indices suffice within a page or tile, and cost a GPU half as much. Second: ROLL_UNROLL is a pragma.
namespace roll {

/// Shared memory of AttendPages, which explains kMixed, kQueries and kVector.
template <class Block, int kMixed, int kQueries>
struct AttendShared {
  template <class T>
  using Cell = typename Block::template Cell<T>;
  Cell<TokenPlace> places[Block::kLanes];               // entry i: tokens [i kVector, (i + 1) kVector) of a span
  alignas(16) Cell<float> mixed[kQueries][kMixed + 8];  // Sums::mixed over all warps; + 8 avoids bank conflicts
  Cell<float> top[Block::kWarps][kQueries], sum[Block::kWarps][kQueries];  // results of each warp, see Sums
};

/// Kernel: causal paged attention on tensor cores, kQueries = 16 queries at once. A row attends to its slot's tokens at
/// positions 0 to row.position. PlaceHeads must have run: it rotates queries and keys (RoPE), and puts the keys and
/// values into the pages. A warp keeps the running maximum and sums of its queries in registers while it loops over
/// keys (Dao 2023, "FlashAttention-2"). A token's exponent is log2(e) * scale * (query . key): its softmax weight is
/// proportional to 2^exponent. T: float, Bf16 or Fp16. kDim: 64, 128 or 256. D is at most kDim and a multiple of 8.
///
/// A block computes `rows_per_block` rows for one bundle, one slice and one split. A bundle is up to 16 query heads
/// that share a key/value head, a slice kMixed of the D output elements, a split a range of the visible tokens. If
/// splits > 1, the results are in `parts`, and CombineParts must run next to write `mixed`. Single rows (decoding): a
/// bundle's heads are the queries, warps divide the tokens. Consecutive rows of a sequence (prefill): the rows are the
/// queries, warps divide the heads.
///
/// A tile is kTile consecutive tokens of a slot, which a warp multiplies at once. The lanes of a warp form a 4 (t) x 8
/// (g) grid, as in mma fragments. A lane reads 16 bytes at once: kVector elements of a key, or one element of kVector
/// tokens' values. This fixes which key is which column of the products: column c of product j is key kVector (c / 2) +
/// 2 j + c % 2 of a tile.
template <class T, int kDim>
struct AttendPages {
  static constexpr int kLanes = 128, kQueries = 16, kVector = PagedLayer<T>::kVector;
  static constexpr int kTile = 4 * kVector;       // tokens per tile
  static constexpr int kSpan = kLanes * kVector;  // tokens whose page-table entries are read at once
  /// Number of sections of a key (4 kVector elements) that are loaded together; registers limit it for wide heads.
  static constexpr int kPasses = kDim > 128 ? 1 : kDim == 128 ? 2 : kDim / kTile;
  /// Softmax weights are scaled by 2^kShift, so that small float16 weights do not become denormal.
  static constexpr float kShift = std::is_same_v<T, Fp16> ? 15 : 0;
  /// kMixed: output elements per block, all of a head if possible. kMaxMixed: the most that fit in registers.
  static constexpr int kMaxMixed = sizeof(T) == 4 && kDim > 128 ? 64 : 128,
                       kMixed = kDim < kMaxMixed ? kDim : kMaxMixed;
  template <class Block>
  using Shared = AttendShared<Block, kMixed, kQueries>;
  const T* qkv = nullptr;         // [N, (H + 2 Hkv) D]; only the queries are read, the first H D elements of a row
  const StepRow* rows = nullptr;  // [N]
  PagedLayer<T> layer;
  T* mixed = nullptr;  // [N, H D]: output, the means of the values weighted by softmax; 0 for padding rows (slot -1)
  /// [num_rows, H, splits, D + 4], written if splits > 1, except padding rows. Per split: D sums of weight * value, the
  /// largest exponent, the sum of the weights, 2 unused elements. A weight is 2^(exponent - largest exponent + kShift).
  /// A split without tokens has largest exponent -FLT_MAX and sums 0.
  float* parts = nullptr;
  int64_t first_row = 0, num_rows = 0;  // computes rows [first_row, first_row + num_rows) of the N rows
  int64_t heads = 0;                    // H
  int64_t splits = 1;                   // token ranges per row; more than 1 only if rows_per_block = 1
  int64_t rows_per_block = 1;           // 1 for decoding; up to kQueries for prompts, whose rows share reads of keys
  float scale = 1;                      // factor of query-key products, usually 1 / sqrt(D)

  /// Returns the number of query heads per key/value head.
  ROLL_HOST_DEVICE int64_t group() const { return heads / layer.kv_heads; }
  /// Returns the number of bundles per key/value head.
  ROLL_HOST_DEVICE int64_t bundles() const { return (group() + kQueries - 1) / kQueries; }
  /// Returns the product of the numbers of row groups, key/value heads, bundles, slices and splits.
  int64_t num_blocks() const {
    return (num_rows + rows_per_block - 1) / rows_per_block * layer.kv_heads * bundles() * (kDim / kMixed) * splits;
  }

  /// Computes block `index`, which counts splits fastest, then slices, bundles, key/value heads and row groups.
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, Shared<Block>& shared, int64_t index) const {
    auto remaining = static_cast<int32_t>(index);
    const auto take = [&](int64_t count) {
      const int32_t digit = remaining % static_cast<int32_t>(count);
      remaining /= static_cast<int32_t>(count);
      return digit;
    };
    const int32_t split = take(splits), from = take(kDim / kMixed) * kMixed, bundle = take(bundles());
    const int32_t kv_head = take(layer.kv_heads);
    const auto left = static_cast<int32_t>(group()) - bundle * kQueries;
    const Heads block_heads{static_cast<int32_t>(kv_head * group()) + bundle * kQueries,
                            left < kQueries ? left : kQueries, kv_head, from};
    const int64_t begin = first_row + remaining * rows_per_block, rows_end = first_row + num_rows,
                  end = begin + rows_per_block < rows_end ? begin + rows_per_block : rows_end;
    for (int64_t i = begin, next = 0; i < end; i = next) {
      next = end_of_run(block, i, end);
      if (rows[i].slot < 0)
        clear(block, i, next, block_heads, split);
      else if (next - i > 1)
        attend_run(block, shared, i, static_cast<int>(next - i), block_heads);
      else
        attend_row(block, shared, i, block_heads, split);
    }
  }

 private:
  /// Query heads [first, first + count), which share a key/value head; output elements [from, from + kMixed).
  struct Heads {
    int32_t first, count, kv_head, from;
  };
  /// A lane's queries g and g + 8 of 16.
  struct Queries {
    const T* q[2];    // [D] each
    int32_t last[2];  // position of the last token that each sees
  };
  /// Tokens [begin, end) of a slot; all queries see the tokens before `whole`. A warp processes the tiles at begin +
  /// first, begin + first + stride, and so on.
  struct Tokens {
    int32_t slot, begin, end, whole, first, stride;
  };
  /// A lane's running results for queries g and g + 8. mixed: sums of weight * value; mixed[i] is the lane's fragment
  /// of output elements 8 i to 8 i + 7. top: largest exponents. sum: sums of weights, until attend() ends over the
  /// lane's columns only, then over the warp's tokens.
  struct Sums {
    Vector<float, 4> mixed[kMixed / 8];
    float top[2] = {-FLT_MAX, -FLT_MAX}, sum[2] = {0, 0};
  };

  /// Returns the D output elements of row i and a query head.
  ROLL_HOST_DEVICE T* out(int64_t i, int64_t head) const { return mixed + (i * heads + head) * layer.head_dim; }
  /// Returns the D elements of row i's query for a query head.
  ROLL_HOST_DEVICE const T* query(int64_t i, int64_t head) const {
    return qkv + (i * (heads + 2 * layer.kv_heads) + head) * layer.head_dim;
  }

  /// Returns the end of the run of rows that starts at i: consecutive tokens of a sequence, or padding rows. The run
  /// has at most 16 rows and ends before or at `end`.
  template <class Block>
  ROLL_KERNEL_TEXT int64_t end_of_run(const Block& block, int64_t i, int64_t end) const {
    const int32_t m = block.lane() % kWarp;
    const StepRow first = rows[i], lane_row = i + m < end && m < kQueries ? rows[i + m] : StepRow{0, 0, -2};
    const bool follows = lane_row.slot == first.slot && (first.slot < 0 || lane_row.position == first.position + m);
    return i + ones_from_below(block.ballot(follows));
  }

  /// Writes 0 as the output of the padding rows [i, end), by one of the blocks that share them.
  template <class Block>
  ROLL_KERNEL_TEXT void clear(const Block& block, int64_t i, int64_t end, const Heads& block_heads,
                              int32_t split) const {
    for (; i < end && split == 0 && block_heads.from == 0; ++i)
      block.each(block_heads.count * layer.head_dim, [&](int64_t j) { store(out(i, block_heads.first)[j], 0); });
  }

  /// Attends the rows [i, i + count) of a sequence; one warp per head.
  template <class Block>
  ROLL_KERNEL_TEXT void attend_run(const Block& block, Shared<Block>& shared, int64_t i, int count,
                                   const Heads& block_heads) const {
    const int g = block.lane() % kWarp / 4, t = block.lane() % 4;
    const StepRow row = rows[i];
    const Tokens tokens{row.slot, 0, row.position + count, row.position + 1, 0, kTile};
    for (int32_t round = 0; round < block_heads.count; round += Block::kWarps) {
      const int32_t head = block_heads.first + round + block.lane() / kWarp;
      const bool is_used = head < block_heads.first + block_heads.count;
      Queries queries;
      for (int r = 0; r < 2; ++r) {
        const int m = g + 8 * r < count ? g + 8 * r : count - 1;
        queries.q[r] = query(i + m, is_used ? head : block_heads.first);
        queries.last[r] = row.position + m;
      }
      Sums sums{};
      attend(block, shared, tokens, block_heads, queries, is_used, sums);
      ROLL_UNROLL
      for (int r = 0; r < 2; ++r) ROLL_UNROLL
      for (int n = 0; n < kMixed / 8; ++n)
        if (is_used && g + 8 * r < count && block_heads.from + 8 * n < layer.head_dim) {
          Vector<T, 2> pair;
          for (int e = 0; e < 2; ++e) store(pair.at[e], float_quotient(sums.mixed[n].at[2 * r + e], sums.sum[r]));
          block.store(out(i + g + 8 * r, head) + block_heads.from + 8 * n + 2 * t, pair);
        }
    }
  }

  /// Attends a single row; warps divide the tokens.
  template <class Block>
  ROLL_KERNEL_TEXT void attend_row(const Block& block, Shared<Block>& shared, int64_t i, const Heads& block_heads,
                                   int32_t split) const {
    const int g = block.lane() % kWarp / 4, t = block.lane() % 4, warp = block.lane() / kWarp;
    const StepRow row = rows[i];
    constexpr int kPiece = Block::kWarps * kTile;
    const auto num_splits = static_cast<int32_t>(splits);
    const int32_t length = row.position + 1, pieces = (length + kPiece - 1) / kPiece;
    const int32_t tokens_per_split = (pieces + num_splits - 1) / num_splits * kPiece, begin = split * tokens_per_split;
    const int32_t end = begin + tokens_per_split < length ? begin + tokens_per_split : length;
    Queries queries;
    for (int r = 0; r < 2; ++r) {
      queries.q[r] = query(i, block_heads.first + (g + 8 * r < block_heads.count ? g + 8 * r : block_heads.count - 1));
      queries.last[r] = row.position;
    }
    Sums sums{};
    attend(block, shared, {row.slot, begin, end, end, warp * kTile, kPiece}, block_heads, queries, true, sums);
    if (t == 0)
      for (int r = 0; r < 2; ++r) {
        shared.top[warp][g + 8 * r] = sums.top[r];
        shared.sum[warp][g + 8 * r] = sums.sum[r];
      }
    block.barrier();
    join_warps(block, shared, block_heads.count, sums);
    for (int k = warp; k < block_heads.count; k += Block::kWarps) {
      float top = 0;
      const float sum = joined_sum(shared, k, top);
      float* const part =
          parts + (((i - first_row) * heads + block_heads.first + k) * splits + split) * (layer.head_dim + 4);
      const int32_t left = layer.head_dim - block_heads.from, count = left < kMixed ? left : kMixed;
      for (int d = block.lane() % kWarp; d < count; d += kWarp)
        if (splits == 1)
          store(out(i, block_heads.first + k)[block_heads.from + d], float_quotient(shared.mixed[k][d], sum));
        else
          part[block_heads.from + d] = shared.mixed[k][d];
      if (splits > 1 && block.lane() % kWarp == 0) {
        part[layer.head_dim] = top;
        part[layer.head_dim + 1] = sum;
      }
    }
  }

  /// Returns query k's sum of weights over all warps, relative to 2^top; sets `top` to the largest exponent.
  template <class Block>
  static ROLL_KERNEL_TEXT float joined_sum(Shared<Block>& shared, int k, float& top) {
    top = shared.top[0][k];
    for (int w = 1; w < Block::kWarps; ++w) top = larger<float>(top, shared.top[w][k]);
    float sum = 0;
    for (int w = 0; w < Block::kWarps; ++w) sum += shared.sum[w][k] * float_exp2(shared.top[w][k] - top);
    return sum;
  }

  /// Sums the value sums of all warps into shared.mixed, in warp order.
  template <class Block>
  ROLL_KERNEL_TEXT void join_warps(const Block& block, Shared<Block>& shared, int count, const Sums& sums) const {
    const int g = block.lane() % kWarp / 4, t = block.lane() % 4;
    float factor[2];
    for (int r = 0; r < 2; ++r) {
      float top = 0;
      joined_sum<Block>(shared, g + 8 * r, top);
      factor[r] = float_exp2(sums.top[r] - top);
    }
    for (int w = 0; w < Block::kWarps; ++w) {
      ROLL_UNROLL
      for (int r = 0; r < 2; ++r) ROLL_UNROLL
      for (int n = 0; n < kMixed / 8 && block.lane() / kWarp == w && 8 * r < count; ++n) {
        auto* const at = &shared.mixed[g + 8 * r][8 * n + 2 * t];
        Vector<float, 2> pair{0, 0};
        if (w > 0) pair = block.template load<2>(at);
        for (int e = 0; e < 2; ++e) pair.at[e] += sums.mixed[n].at[2 * r + e] * factor[r];
        block.store(at, pair);
      }
      block.barrier();
    }
  }

  /// Attends a warp's queries over its tokens. All warps must call it; with is_used = false, a warp only helps to read
  /// the page table.
  template <class Block>
  ROLL_KERNEL_TEXT void attend(const Block& block, Shared<Block>& shared, const Tokens& tokens,
                               const Heads& block_heads, const Queries& queries, bool is_used, Sums& sums) const {
    for (int32_t span = tokens.begin; span < tokens.end; span += kSpan) {
      const int32_t first_token = span + block.lane() * kVector;
      TokenPlace place{0, 0};
      if (first_token < tokens.end) place = layer.token_place(tokens.slot, first_token, block_heads.kv_head);
      shared.places[block.lane()] = place;
      block.barrier();
      const int32_t end = span + kSpan < tokens.end ? span + kSpan : tokens.end;
      int32_t first = is_used ? span + tokens.first : end;
      for (; first < end && first + kTile <= tokens.whole; first += tokens.stride)
        add_tile<true>(block, shared, first - span, first, tokens.end, block_heads.from, queries, sums);
      for (; first < end; first += tokens.stride)
        add_tile<false>(block, shared, first - span, first, tokens.end, block_heads.from, queries, sums);
      block.barrier();
    }
    for (int r = 0; r < 2; ++r)
      for (int offset = 1; offset < 4; offset *= 2) sums.sum[r] += block.shuffle_xor(sums.sum[r], offset);
  }

  /// Adds the tile of tokens [first, min(first + kTile, end)) to `sums`. in_span: tokens from the start of
  /// shared.places to `first`. from: first output element. kIsWhole: the tile is full and all queries see all its
  /// tokens.
  template <bool kIsWhole, class Block>
  ROLL_KERNEL_TEXT void add_tile(const Block& block, Shared<Block>& shared, int32_t in_span, int32_t first, int32_t end,
                                 int32_t from, const Queries& queries, Sums& sums) const {
    Vector<float, 4> scores[kVector / 2] = {};
    score<kIsWhole>(block, shared.places[in_span / kVector + block.lane() % kWarp / 8], first, end, queries, scores);
    const int t = block.lane() % 4;
    const float to_exponent = scale * kLog2E;
    float top[2] = {sums.top[0], sums.top[1]};
    for (int j = 0; j < kVector / 2; ++j)
      for (int e = 0; e < 4; ++e) {
        float& exponent = scores[j].at[e];
        exponent *= to_exponent;
        if (!kIsWhole && first + kVector * t + 2 * j + e % 2 > queries.last[e / 2]) exponent = -INFINITY;
        top[e / 2] = larger(top[e / 2], exponent);
      }
    float factor[2];
    for (int r = 0; r < 2; ++r) {
      for (int offset = 1; offset < 4; offset *= 2) top[r] = larger(top[r], block.shuffle_xor(top[r], offset));
      factor[r] = float_exp2(sums.top[r] - top[r]);  // 0 before the first tile
      sums.top[r] = top[r];
      sums.sum[r] *= factor[r];
    }
    if (block.ballot(factor[0] != 1 || factor[1] != 1) != 0)
      for (Vector<float, 4>& mixed_fragment : sums.mixed)
        for (int e = 0; e < 4; ++e) mixed_fragment.at[e] *= factor[e / 2];
    for (Vector<float, 4>& fragment : scores)
      for (int e = 0; e < 4; ++e) {
        fragment.at[e] = float_exp2(fragment.at[e] - (top[e / 2] - kShift));
        sums.sum[e / 2] += fragment.at[e];
      }
    mix<kIsWhole>(block, shared.places[in_span / kVector + t], end - first - kVector * t, from, scores, sums);
  }

  /// Adds the products of the 16 queries and the keys of a tile, as in add_tile(), to `scores`. scores[j]: the lane's
  /// fragment of product j (16 queries x 8 tokens). place: that of the keys that the lane reads.
  template <bool kIsWhole, class Block>
  ROLL_KERNEL_TEXT void score(const Block& block, TokenPlace place, int32_t first, int32_t end, const Queries& queries,
                              Vector<float, 4> (&scores)[kVector / 2]) const {
    const int g = block.lane() % kWarp / 4, t = block.lane() % 4;
    const T* key = layer.key_at(place) + (t * layer.page_size + g % 2) * kVector;
    const int32_t position = first + g / 2 * kVector + g % 2;
    const T* const lane_queries[2] = {opaque_pointer(queries.q[0]), opaque_pointer(queries.q[1])};
    ROLL_UNROLL_BY(kIsWhole ? kPasses : 1)
    for (int c = 0; c < kDim / kTile; ++c, key += 4 * layer.page_size * kVector) {
      const int d = c * kTile + t * kVector;
      Packed<4> q[2] = {}, keys[kVector / 2] = {};
      if (d < layer.head_dim) {
        for (int r = 0; r < 2; ++r) q[r] = words_at(block, lane_queries[r] + d);
        for (int j = 0; j < kVector / 2; ++j)
          if (kIsWhole || position + 2 * j < end) keys[j] = words_at(block, key + 2 * j * kVector);
      }
      for (int half = 0; half < 2; ++half) {
        const Packed<4> left{q[0].at[2 * half], q[1].at[2 * half], q[0].at[2 * half + 1], q[1].at[2 * half + 1]};
        for (int j = 0; j < kVector / 2; ++j)
          block.template multiply_add<T>(scores[j], left, {keys[j].at[2 * half], keys[j].at[2 * half + 1]});
      }
    }
  }

  /// Adds the weighted values of a tile to sums.mixed. place: that of the first of kVector tokens whose values the lane
  /// reads; count: the tokens among them that exist. from: first output element. weights: fragments as in score().
  template <bool kIsWhole, class Block>
  ROLL_KERNEL_TEXT void mix(const Block& block, TokenPlace place, int32_t count, int32_t from,
                            const Vector<float, 4> (&weights)[kVector / 2], Sums& sums) const {
    Packed<4> left[2][kFactors];
    for (int half = 0; half < 2; ++half) weigh(weights, half, left[half]);
    const T* const value = layer.value_at(place) + (from + block.lane() % kWarp / 4) * kVector;
    ROLL_UNROLL
    for (int n = 0; n < kMixed / 8; ++n) {
      Packed<4> values = {};
      if (from + 8 * n < layer.head_dim) {
        if (kIsWhole)
          values = words_at(block, value + 8 * n * kVector);
        else if (count > 0)
          values = packed_words<T>(block.template load_some<kVector>(value + 8 * n * kVector, count));
      }
      for (int half = 0; half < 2; ++half)
        for (int f = 0; f < kFactors; ++f)
          block.template multiply_add<T>(sums.mixed[n], left[half][f], {values.at[2 * half], values.at[2 * half + 1]});
    }
  }

  /// Number of values of T whose sum is a weight. 16-bit types need two: the second holds the rounding error of the
  /// first.
  static constexpr int kFactors = sizeof(T) == 4 ? 1 : 2;
  /// Converts weights to left factors of products, for one half of the kVector tokens whose values a lane reads.
  static ROLL_KERNEL_TEXT void weigh(const Vector<float, 4> (&weights)[kVector / 2], int half,
                                     Packed<4> (&left)[kFactors]) {
    constexpr int kWidth = 4 / sizeof(T);
    for (int q = 0; q < 4; ++q) {
      float rest[kWidth];
      for (int p = 0; p < kWidth; ++p) {
        const int column = half * (kVector / 2) + q / 2 * kWidth + p;
        rest[p] = weights[column / 2].at[q % 2 * 2 + column % 2];
      }
      for (int f = 0; f < kFactors; ++f) {
        left[f].at[q] = packed_word<T>(rest);
        for (int p = 0; p < kWidth; ++p) rest[p] -= float_in_word<T>(left[f].at[q], p);
      }
    }
  }
};

}  // namespace roll
// NOLINTEND(bugprone-implicit-widening-of-multiplication-result,readability-misleading-indentation)
