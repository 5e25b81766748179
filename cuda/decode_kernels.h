// The kernels of decoding between the products of a layer, as texts over a block of lanes (lane_block.h). Each is a
// struct of its arguments, all in the device's memory, whose run() is the text of one block; launch_kernel.h starts
// them on a GPU, a test runs them on the CPU. T: float or Bf16, of weights, products' inputs and outputs, and the
// cache; between them everything is float32, the residual stream too. Legend: N rows (tokens), S slots, E hidden size,
// H query heads, Hkv key/value heads, D head size, I inner size.
#pragma once

#include <cmath>

#include "cuda/lane_block.h"
#include "cuda/sample_rows.h"

namespace roll {

/// A token that is computed. token -1: the slot's last one, at the slot's length. slot -1: nothing.
struct StepRow {
  int32_t token = 0, position = 0, slot = -1;
};

/// A slot that gets a new sequence.
struct SlotSeat {
  SlotState state;
  int64_t slot = 0;
};

/// Entry `index` of a slot's table of pages.
struct TableEntry {
  int32_t slot = 0, index = 0, page = 0;
};

struct PageMove {
  int32_t from = 0, to = 0;
};

/// What the plan changed of slots.
struct UpdateSlots {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  const SlotSeat* seats = nullptr;
  const TableEntry* entries = nullptr;
  int64_t num_seats = 0, num_entries = 0, table_width = 0;
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

/// A block for each page and each of the cache's tensors, [P, words] one behind the other.
struct CopyPages {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  const PageMove* moves = nullptr;
  int64_t num_moves = 0, num_tensors = 0, num_pages = 0, page_words = 0;
  uint64_t* cache = nullptr;

  int64_t num_blocks() const { return num_moves * num_tensors; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    const PageMove move = moves[index / num_tensors];
    uint64_t* const tensor = cache + index % num_tensors * num_pages * page_words;
    block.each(page_words, [&](int64_t i) { tensor[move.to * page_words + i] = tensor[move.from * page_words + i]; });
  }
};

/// 1 / sqrt(mean(x^2) + eps).
template <class Block, class F>
ROLL_KERNEL_TEXT float norm_scale(const Block& block, int64_t width, float eps, const F& value) {
  const float squares = block.sum(width, [&](int64_t i) { return value(i) * value(i); });
  return 1.0f / sqrtf(squares / static_cast<float>(width) + eps);
}

/// Which tokens a step computes, where; their embeddings, and the first layer's input.
template <class T>
struct StartRows {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  const StepRow* plan = nullptr;  // [N]
  StepRow* rows = nullptr;        // [N]: the plan's with tokens and positions
  const SlotState* slots = nullptr;
  const T *embedding = nullptr, *norm = nullptr;  // [V, E], [E]
  float* x = nullptr;                             // [N, E]
  T* input = nullptr;                             // [N, E]
  int64_t num_rows = 0, hidden = 0;
  float eps = 0;

  int64_t num_blocks() const { return num_rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t i) const {
    StepRow row = plan[i];
    if (row.slot >= 0 && row.token < 0) {
      row.token = slots[row.slot].last_token;
      row.position = slots[row.slot].length;
    }
    block.once([&] { rows[i] = row; });
    float* const own = x + i * hidden;
    T* const in = input + i * hidden;
    if (row.slot < 0) {
      block.each(hidden, [&](int64_t j) {
        own[j] = 0;
        store(in[j], 0);
      });
      return;
    }
    const T* const token = embedding + row.token * hidden;
    const auto value = [&](int64_t j) { return to_float(token[j]); };
    const float scale = norm_scale(block, hidden, eps, value);
    block.each(hidden, [&](int64_t j) {
      own[j] = value(j);
      store(in[j], value(j) * scale * to_float(norm[j]));
    });
  }
};

/// x += branch + bias, and the next product's input. With `draws` instead: the input of the head, of the rows from
/// which slots draw; x stays.
template <class T>
struct AddNorm {
  static constexpr int kLanes = 256;
  template <class>
  using Shared = NoShared;
  float* x = nullptr;                                           // [N, E]
  const T *branch = nullptr, *bias = nullptr, *norm = nullptr;  // [N, E], [E] or null, [E]
  T* input = nullptr;                                           // [num_rows, E]
  const RowDraw* draws = nullptr;
  int64_t num_rows = 0, hidden = 0;
  float eps = 0;

  int64_t num_blocks() const { return num_rows; }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t i) const {
    T* const in = input + i * hidden;
    if (draws && draws[i].slot < 0) return block.each(hidden, [&](int64_t j) { store(in[j], 0); });
    const int64_t from = draws ? draws[i].row : i;
    float* const own = x + from * hidden;
    const T* const added = branch + from * hidden;
    const auto value = [&](int64_t j) { return own[j] + to_float(added[j]) + (bias ? to_float(bias[j]) : 0.0f); };
    const float scale = norm_scale(block, hidden, eps, value);
    block.each(hidden, [&](int64_t j) {
      const float sum = value(j);
      if (!draws) own[j] = sum;
      store(in[j], sum * scale * to_float(norm[j]));
    });
  }
};

/// Keys and values of one layer, and the tables that say where a sequence's lie. Keys are [P, Hkv, D / kVector,
/// page_size, kVector], so that neighbouring lanes read neighbouring keys 16 bytes at a time; values are
/// [P, Hkv, page_size, D].
template <class T>
struct PagedLayer {
  static constexpr int64_t kVector = 16 / sizeof(T);
  T *keys = nullptr, *values = nullptr;
  const int32_t* tables = nullptr;  // [S, table_width]
  int64_t table_width = 0, page_size = 0, kv_heads = 0, head_dim = 0;

  /// Where a head's block of its page begins.
  ROLL_HOST_DEVICE int64_t base(int64_t slot, int64_t position, int64_t head) const {
    return (tables[slot * table_width + position / page_size] * kv_heads + head) * page_size * head_dim;
  }
  /// Where elements [d, d + kVector) of a key lie.
  ROLL_HOST_DEVICE int64_t key_at(int64_t slot, int64_t position, int64_t head, int64_t d) const {
    return base(slot, position, head) + (d / kVector * page_size + position % page_size) * kVector;
  }
  ROLL_HOST_DEVICE int64_t value_at(int64_t slot, int64_t position, int64_t head) const {
    return base(slot, position, head) + position % page_size * head_dim;
  }
};

constexpr int kMaxHeadDim = 256;

template <class Block>
struct HeadShared {
  typename Block::template Cell<float> x[kMaxHeadDim];
};

/// Bias, norm and rotation of q and k; k and v go to their page. A block for each row's head, of q, k and v.
template <class T>
struct PlaceHeads {
  static constexpr int kLanes = 64;
  template <class Block>
  using Shared = HeadShared<Block>;
  T* qkv = nullptr;                                               // [N, (H + 2 Hkv) D]
  const T *bias = nullptr, *q_norm = nullptr, *k_norm = nullptr;  // [(H + 2 Hkv) D], [D], [D]; or null
  const float *cos = nullptr, *sin = nullptr;                     // [positions, D / 2]
  const StepRow* rows = nullptr;
  PagedLayer<T> layer;
  int64_t num_rows = 0, heads = 0;
  float eps = 0;

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
    const int64_t kv_head = (head - heads) % layer.kv_heads;
    if (head >= heads + layer.kv_heads) {
      T* const value = layer.values + layer.value_at(row.slot, row.position, kv_head);
      return block.each(dim, [&](int64_t d) { store(value[d], shared.x[d]); });
    }
    const T* const norm = head < heads ? q_norm : k_norm;
    if (norm) {
      const float scale = norm_scale(block, dim, eps, [&](int64_t d) -> float { return shared.x[d]; });
      block.each(dim, [&](int64_t d) { shared.x[d] *= scale * to_float(norm[d]); });
    }
    const int64_t half = dim / 2;
    const float *const c = cos + row.position * half, *const s = sin + row.position * half;
    block.each(dim, [&](int64_t d) {
      const float turned = d < half ? shared.x[d] * c[d] - shared.x[d + half] * s[d]
                                    : shared.x[d] * c[d - half] + shared.x[d - half] * s[d - half];
      if (head < heads)
        store(own[d], turned);
      else
        store(layer.keys[layer.key_at(row.slot, row.position, kv_head, d) + d % PagedLayer<T>::kVector], turned);
    });
  }
};

/// silu(gate + bias) * (up + bias).
template <class T>
struct Gate {
  static constexpr int kLanes = 256, kPerBlock = 1024;
  template <class>
  using Shared = NoShared;
  const T *gate_up = nullptr, *bias = nullptr;  // [N, 2 I]: gate, then up; [2 I] or null
  T* gated = nullptr;                           // [N, I]
  int64_t num_rows = 0, inner = 0;

  ROLL_HOST_DEVICE int64_t blocks_per_row() const { return (inner + kPerBlock - 1) / kPerBlock; }
  int64_t num_blocks() const { return num_rows * blocks_per_row(); }
  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    const int64_t i = index / blocks_per_row(), first = index % blocks_per_row() * kPerBlock;
    const T* const gates = gate_up + 2 * i * inner;
    block.each(inner - first < kPerBlock ? inner - first : kPerBlock, [&](int64_t offset) {
      const int64_t j = first + offset;
      const float gate = to_float(gates[j]) + (bias ? to_float(bias[j]) : 0.0f);
      const float up = to_float(gates[inner + j]) + (bias ? to_float(bias[inner + j]) : 0.0f);
      store(gated[i * inner + j], gate / (1.0f + expf(-gate)) * up);
    });
  }
};

}  // namespace roll
