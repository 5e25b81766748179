// Kernels of the GPU sampler (lib/decode/device_decoder.h) between the GEMMs of a layer. Each is a kernel struct
// (lane_block.h) whose fields are its arguments; pointers are device memory. launch_kernel.h starts it on a GPU, tests
// run it on the CPU. T (float, Bf16 or Fp16): type of weights, GEMM inputs and outputs, and KV cache. All arithmetic
// and the residual stream are float32. A step computes N rows, one token each; a slot is the place of one running
// sequence in the batch. Legend: N rows, S slots, P pages, E hidden size, H query heads, Hkv key/value heads, D head
// size, I inner size of the MLP. H, Hkv and I are this tensor-parallel rank's. E and I must be multiples of 4, D of 8.
#pragma once

#include <cmath>

#include "cuda/device_math.h"
#include "cuda/lane_block.h"
#include "cuda/sample_rows.h"

// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result)
// 32-bit indices suffice within a page or tile and cost a GPU half as much.
namespace roll {

/// A row of a step: a token to compute.
struct StepRow {
  int32_t token = 0;     // token id; -1: StartRows fills in SlotState::last_token, and SlotState::length as position
  int32_t position = 0;  // in the sequence, from 0
  int32_t slot = -1;     // -1: padding row, skipped
};

/// Assignment of a slot to a new sequence.
struct SlotSeat {
  SlotState state;  // initial state of the slot
  int64_t slot = 0;
};

/// New value of entry `index` of a slot's page table. `page` is the number of the page with the keys and values of the
/// tokens at positions [index * page_size, (index + 1) * page_size).
struct TableEntry {
  int32_t slot = 0, index = 0, page = 0;
};

/// A page to copy, by page number.
struct PageMove {
  int32_t from = 0, to = 0;
};

/// Kernel: applies new seats and page-table entries. One block.
struct UpdateSlots {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  const SlotSeat* seats = nullptr;      // [num_seats], no slot twice
  const TableEntry* entries = nullptr;  // [num_entries], no entry twice
  int64_t num_seats = 0, num_entries = 0;
  int64_t table_width = 0;     // entries per slot
  SlotState* slots = nullptr;  // [S]
  int32_t* tables = nullptr;   // [S, table_width]

  int64_t num_blocks() const { return 1; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t) const {
    block.each(num_seats, [&](int64_t i) { slots[seats[i].slot] = seats[i].state; });
    block.each(num_entries,
               [&](int64_t i) { tables[entries[i].slot * table_width + entries[i].index] = entries[i].page; });
  }
};

/// Kernel: copies pages in all cache tensors. One block per copy and tensor. Blocks run in no order, so no page may be
/// both copied to and copied from.
struct CopyPages {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  const PageMove* moves = nullptr;  // [num_moves]
  int64_t num_moves = 0;
  int64_t num_tensors = 0;    // keys and values of each layer: two per layer
  int64_t num_pages = 0;      // P
  int64_t page_words = 0;     // 8-byte words per page of one tensor
  uint64_t* cache = nullptr;  // [num_tensors, P, page_words]

  int64_t num_blocks() const { return num_moves * num_tensors; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    const PageMove move = moves[index / num_tensors];
    uint64_t* const tensor = cache + index % num_tensors * num_pages * page_words;
    block.each(page_words, [&](int64_t i) { tensor[move.to * page_words + i] = tensor[move.from * page_words + i]; });
  }
};

/// Loads four elements at x as float32.
template <class Block, class T>
ROLL_KERNEL_TEXT Vector<float, 4> four_at(const Block& block, const T* x) {
  const Vector<T, 4> loaded = block.template load<4>(x);
  return {to_float(loaded.at[0]), to_float(loaded.at[1]), to_float(loaded.at[2]), to_float(loaded.at[3])};
}

/// Converts four floats to T, rounded to nearest.
template <class T>
ROLL_HOST_DEVICE Vector<T, 4> rounded(const Vector<float, 4>& x) {
  Vector<T, 4> result;
  for (int e = 0; e < 4; ++e) store(result.at[e], x.at[e]);
  return result;
}

/// Returns 1 / sqrt(mean(x^2) + eps) over `width` elements, in every lane; four(j) returns elements j to j + 3. All
/// lanes of the block must call it.
template <class Block, class F>
ROLL_KERNEL_TEXT float norm_scale(const Block& block, int64_t width, float eps, const F& four) {
  float squares = 0;
  for (int32_t j = 4 * block.lane(); j < width; j += 4 * Block::kLanes)
    for (const float x : four(j).at) squares += x * x;
  squares = block.joined(squares, [](float a, float b) { return a + b; });
  return 1.0f / sqrtf(squares / static_cast<float>(width) + eps);
}

/// Returns x * scale * weight.
ROLL_HOST_DEVICE Vector<float, 4> normed(const Vector<float, 4>& x, float scale, const Vector<float, 4>& weight) {
  Vector<float, 4> result;
  for (int e = 0; e < 4; ++e) result.at[e] = x.at[e] * scale * weight.at[e];
  return result;
}

/// Kernel: begins a step: fills in tokens and positions (`rows`), and writes the embeddings (x) and their RMS norm, or
/// a copy without a norm (`input`, of layer 0). One block per row; a padding row becomes 0. If `sums` is set (embedding
/// split across ranks), x becomes 0 and `input` is not written. `sums` then gets the embeddings of tokens in this
/// rank's vocabulary range, and 0 for other tokens. The caller sums it over the ranks, and AddNorm adds it to x and
/// writes `input`.
template <class T>
struct StartRows {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  const StepRow* plan = nullptr;            // [N]
  StepRow* rows = nullptr;                  // [N]: plan with tokens and positions filled in; read by the later kernels
  const SlotState* slots = nullptr;         // [S]
  const T* embedding = nullptr;             // [num_tokens, E]
  const float* norm = nullptr;              // [E]: weight of layer 0's input norm; null: no norm
  float* x = nullptr;                       // [N, E]: residual stream
  T* input = nullptr;                       // [N, E]
  float* sums = nullptr;                    // [N, E], or null
  int64_t num_rows = 0, hidden = 0;         // N, E
  int64_t first_token = 0, num_tokens = 0;  // token ids [first_token, first_token + num_tokens) are in `embedding`
  float eps = 0, embedding_scale = 1;

  int64_t num_blocks() const { return num_rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t i) const {
    StepRow row = plan[i];
    if (row.slot >= 0 && row.token < 0) {
      row.token = slots[row.slot].last_token;
      row.position = slots[row.slot].length;
    }
    block.once([&] { rows[i] = row; });
    float* const x_row = x + i * hidden;
    T* const in = input + i * hidden;
    const int64_t table_row = row.token - first_token;
    const bool is_local = row.slot >= 0 && 0 <= table_row && table_row < num_tokens;
    const T* const token = embedding + (is_local ? table_row : 0) * hidden;
    const auto value = [&](int32_t j) {
      Vector<float, 4> x = four_at(block, token + j);
      for (float& element : x.at) element *= embedding_scale;
      return x;
    };
    if (sums)
      return block.each_fourth(static_cast<int32_t>(hidden), [&](int32_t j) {
        block.store(x_row + j, Vector<float, 4>{});
        block.store(sums + i * hidden + j, is_local ? value(j) : Vector<float, 4>{});
      });
    if (row.slot < 0) {
      block.each_fourth(static_cast<int32_t>(hidden), [&](int32_t j) {
        block.store(x_row + j, Vector<float, 4>{});
        block.store(in + j, Vector<T, 4>{});
      });
      return;
    }
    const float scale = norm ? norm_scale(block, hidden, eps, value) : 1;
    block.each_fourth(static_cast<int32_t>(hidden), [&](int32_t j) {
      const Vector<float, 4> x = value(j);
      block.store(x_row + j, x);
      block.store(in + j, rounded<T>(norm ? normed(x, scale, four_at(block, norm + j)) : x));
    });
  }
};

/// Kernel: x += scale * after(branch + bias), and input = RMS norm of x * norm, the input of the next GEMM. `after` is
/// an RMS norm, too. Without the norms the values go on unchanged. One block per row of `input`. If `draws` is set
/// (before the LM head), x stays unchanged. Row i of `input` is then computed from row draws[i].row of x and branch,
/// and becomes 0 if draws[i].slot is -1.
template <class T>
struct AddNorm {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  float* x = nullptr;                // [N, E]: residual stream
  const T* branch = nullptr;         // [N, E]: output of the attention or MLP, without bias
  const T* bias = nullptr;           // [E], or null
  const float* after = nullptr;      // [E]: weight of the norm of the branch, or null
  const float* norm = nullptr;       // [E]: weight of the norm of x, or null
  const float* sums = nullptr;       // [N, E]: taken in place of `branch`, e.g. a sum over ranks; null: not used
  T* input = nullptr;                // [num_rows, E]
  const RowDraw* draws = nullptr;    // [num_rows], or null
  int64_t num_rows = 0, hidden = 0;  // num_rows: N, or the number of draws; hidden: E
  float eps = 0, scale = 1;

  int64_t num_blocks() const { return num_rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t i) const {
    T* const in = input + i * hidden;
    const auto width = static_cast<int32_t>(hidden);
    if (draws && draws[i].slot < 0)
      return block.each_fourth(width, [&](int32_t j) { block.store(in + j, Vector<T, 4>{}); });
    const int64_t from = draws ? draws[i].row : i;
    float* const x_row = x + from * hidden;
    const auto added = [&](int32_t j) {
      Vector<float, 4> y = sums ? four_at(block, sums + from * hidden + j) : four_at(block, branch + from * hidden + j);
      const Vector<float, 4> z = bias ? four_at(block, bias + j) : Vector<float, 4>{};
      for (int e = 0; e < 4; ++e) y.at[e] += z.at[e];
      return y;
    };
    const float after_scale = after ? norm_scale(block, hidden, eps, added) : 1;
    const auto value = [&](int32_t j) {
      Vector<float, 4> x = block.template load<4>(x_row + j);
      const Vector<float, 4> y = after ? normed(added(j), after_scale, four_at(block, after + j)) : added(j);
      for (int e = 0; e < 4; ++e) x.at[e] += scale * y.at[e];
      return x;
    };
    const float sum_scale = norm ? norm_scale(block, hidden, eps, value) : 1;
    block.each_fourth(width, [&](int32_t j) {
      const Vector<float, 4> sum = value(j);
      if (!draws) block.store(x_row + j, sum);
      block.store(in + j, rounded<T>(norm ? normed(sum, sum_scale, four_at(block, norm + j)) : sum));
    });
  }
};

/// Location of a token's key and value of one head in PagedLayer's memory.
struct TokenPlace {
  int32_t block;   // page * Hkv + key/value head
  int32_t within;  // offset in the page, in tokens
};

/// Paged keys and values of one layer, with the page tables. Lanes read 16 bytes at once, so kVector elements lie side
/// by side. Layout of keys: [P, Hkv, D / kVector, page_size, kVector], with kVector consecutive elements of D last.
/// Layout of values: [P, Hkv, page_size / kVector, D, kVector], with kVector consecutive tokens last.
template <class T>
struct PagedLayer {
  static constexpr int kVector = 16 / sizeof(T);
  T *keys = nullptr, *values = nullptr;
  const int32_t* tables = nullptr;  // [S, table_width]: page numbers
  int32_t table_width = 0, page_size = 0, kv_heads = 0, head_dim = 0;
  uint32_t page_factor = 0;  // reciprocal(page_size)

  /// Returns the factor with position / page_size = position * factor / 2^32 (integer divisions). This holds for
  /// positions below 2^32 / page_size, and for all positions if page_size is a power of 2.
  static uint32_t reciprocal(int64_t page_size) {
    return static_cast<uint32_t>(((int64_t{1} << 32) + page_size - 1) / page_size);
  }

  /// Looks up the token at `position` in a slot's page table. head: key/value head. The next tokens, up to the next
  /// position that is a multiple of kVector, follow it in memory.
  ROLL_HOST_DEVICE TokenPlace token_place(int32_t slot, int32_t position, int32_t head) const {
    const auto page = static_cast<int32_t>(uint64_t{static_cast<uint32_t>(position)} * page_factor >> 32);
    return {tables[int64_t{slot} * table_width + page] * kv_heads + head, position - page * page_size};
  }
  /// Returns a pointer to element 0 of a token's key; the next kVector - 1 elements follow it.
  ROLL_HOST_DEVICE T* key_at(TokenPlace place) const {
    return keys + int64_t{place.block} * (page_size * head_dim) + place.within * kVector;
  }
  /// Returns a pointer to element 0 of the values of kVector consecutive tokens. place: that of the first, whose
  /// position is a multiple of kVector.
  ROLL_HOST_DEVICE T* value_at(TokenPlace place) const {
    return values + int64_t{place.block} * (page_size * head_dim) + place.within * head_dim;
  }
  /// These overloads return element d of a token's key or value.
  ROLL_HOST_DEVICE T& key_at(TokenPlace place, int32_t d) const {
    return key_at(place)[d / kVector * page_size * kVector + d % kVector];
  }
  ROLL_HOST_DEVICE T& value_at(TokenPlace place, int32_t d) const {
    const int32_t in_vector = place.within % kVector;
    return value_at({place.block, place.within - in_vector})[d * kVector + in_vector];
  }
};

constexpr int kMaxHeadDim = 256;

/// Shared memory of PlaceHeads: one head.
template <class Block>
struct HeadShared {
  alignas(16) typename Block::template Cell<float> x[kMaxHeadDim];
};

/// Kernel: adds the bias to q, k and v, applies q/k norm and RoPE to q and k, and scales q by its position. Writes q
/// back to `qkv`; writes k and v to the pages of `layer` only. One block per row and q/k/v head; padding rows are
/// skipped. RoPE rotates pairs of the first R elements: (i, i + R / 2), or (2i, 2i + 1) if they are interleaved.
template <class T>
struct PlaceHeads {
  static constexpr int kLanes = 64;
  template <class Block>
  using Shared = HeadShared<Block>;
  T* qkv = nullptr;                                  // [N, (H + 2 Hkv) D]: queries, keys, values
  const T* bias = nullptr;                           // [(H + 2 Hkv) D], or null
  const float *q_norm = nullptr, *k_norm = nullptr;  // [D]: weights of the RMS norms; null: no norm
  const float *cos = nullptr, *sin = nullptr;        // [positions, R / 2]: RoPE tables, a row per position
  const float* growth = nullptr;                     // [positions]: factors of queries; null: 1
  const StepRow* rows = nullptr;                     // [N]
  PagedLayer<T> layer;
  int64_t num_rows = 0, heads = 0;  // N, H
  int64_t rotated = 0;              // R; 0: no RoPE
  float eps = 0;
  bool is_interleaved = false;

  ROLL_HOST_DEVICE int64_t all_heads() const { return heads + 2 * layer.kv_heads; }
  int64_t num_blocks() const { return num_rows * all_heads(); }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, HeadShared<Block>& shared, int64_t index) const {
    const int64_t i = index / all_heads(), head = index % all_heads(), dim = layer.head_dim;
    const StepRow row = rows[i];
    if (row.slot < 0) return;
    T* const own = qkv + index * dim;
    block.each(dim,
               [&](int64_t d) { shared.x[d] = to_float(own[d]) + (bias ? to_float(bias[head * dim + d]) : 0.0f); });
    TokenPlace place{0, 0};
    if (head >= heads)
      place = layer.token_place(row.slot, row.position, static_cast<int32_t>(head - heads) % layer.kv_heads);
    if (head >= heads + layer.kv_heads)
      return block.each(static_cast<int32_t>(dim), [&](int32_t d) { store(layer.value_at(place, d), shared.x[d]); });
    const float* const norm = head < heads ? q_norm : k_norm;
    if (norm) {
      const float scale = norm_scale(block, dim, eps, [&](int32_t d) { return block.template load<4>(&shared.x[d]); });
      block.each(dim, [&](int64_t d) { shared.x[d] *= scale * norm[d]; });
    }
    const auto half = static_cast<int32_t>(rotated / 2);
    const float *const c = cos + row.position * half, *const s = sin + row.position * half;
    const float factor = growth ? growth[row.position] : 1;
    block.each(static_cast<int32_t>(dim), [&](int32_t d) {
      float x = shared.x[d];
      if (d < 2 * half) {
        const bool is_second = is_interleaved ? d % 2 == 1 : d >= half;
        const int32_t other = is_interleaved ? d ^ 1 : is_second ? d - half : d + half;
        const int32_t pair = is_interleaved ? d / 2 : is_second ? other : d;
        x = is_second ? x * c[pair] + shared.x[other] * s[pair] : x * c[pair] - shared.x[other] * s[pair];
      }
      if (head < heads)
        store(own[d], x * factor);
      else
        store(layer.key_at(place, d), x);
    });
  }
};

/// Returns x / (1 + e^-y), and 0 for y below -80, where the denominator exceeds the range of float_quotient().
ROLL_HOST_DEVICE float gated_by(float x, float y) {
  return y < -80.0f ? 0.0f : float_quotient(x, 1.0f + float_exp2(-y * kLog2E));
}

ROLL_HOST_DEVICE float silu(float x) {
  return gated_by(x, x);
}

/// Returns the tanh approximation of gelu: x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
ROLL_HOST_DEVICE float gelu_tanh(float x) {
  constexpr float kTwice = 1.5957691216057308f, kCubic = 0.044715f;  // 2 sqrt(2 / pi)
  return gated_by(x, kTwice * x * (1.0f + kCubic * x * x));
}

/// Kernel: gated = activation(gate + gate_bias) * (up + up_bias). gate and up are the halves of gate_up's rows,
/// gate_bias and up_bias the halves of `bias`.
template <class T>
struct Gate {
  static constexpr int kLanes = 256, kPerBlock = 1024;  // kPerBlock: elements of a row per block
  template <class>
  using Shared = NoShared;
  const T* gate_up = nullptr;       // [N, 2 I]: gate, then up
  const T* bias = nullptr;          // [2 I]: gate's, then up's; or null
  T* gated = nullptr;               // [N, I]
  int64_t num_rows = 0, inner = 0;  // N, I
  bool is_gelu = false;             // the activation is gelu_tanh(); false: silu()

  ROLL_HOST_DEVICE int64_t blocks_per_row() const { return (inner + kPerBlock - 1) / kPerBlock; }
  int64_t num_blocks() const { return num_rows * blocks_per_row(); }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    const int64_t i = index / blocks_per_row(), first = index % blocks_per_row() * kPerBlock;
    const T* const gates = gate_up + 2 * i * inner;
    const auto left = static_cast<int32_t>(inner - first < kPerBlock ? inner - first : kPerBlock);
    block.each_fourth(left, [&](int32_t offset) {
      const int64_t j = first + offset;
      const auto biased = [&](int64_t from) {
        Vector<float, 4> x = four_at(block, gates + from);
        const Vector<float, 4> y = bias ? four_at(block, bias + from) : Vector<float, 4>{};
        for (int e = 0; e < 4; ++e) x.at[e] += y.at[e];
        return x;
      };
      const Vector<float, 4> gate = biased(j);
      Vector<float, 4> up = biased(inner + j);
      for (int e = 0; e < 4; ++e) up.at[e] *= is_gelu ? gelu_tanh(gate.at[e]) : silu(gate.at[e]);
      block.store(gated + i * inner + j, rounded<T>(up));
    });
  }
};

}  // namespace roll
// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)
