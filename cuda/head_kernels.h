// Training kernels between the packed QKV GEMM and attention, forward and backward: q/k norm and RoPE. Each is a kernel
// struct (lane_block.h) whose fields are its arguments; pointers are device memory, 16-byte aligned.
// launch_layer_kernel.h starts it. T: float or Bf16; arithmetic is float32. d_x or dx is the gradient of the loss by x.
// Legend: N rows (tokens), H query heads, Hkv key/value heads, D head size, at most 256.
#pragma once

#include "cuda/row_vectors.h"

namespace roll {

/// Arguments that forward and backward share: sizes of the packed QKV tensor [N, (H + 2 Hkv) D], and the parameters of
/// q/k norm and RoPE. A row of the tensor holds all queries, then all keys, then all values. RoPE rotates the pairs (i,
/// i + D/2) of each query and key, after an optional RMS norm of the head.
template <class T>
struct HeadRows {
  const T *q_norm = nullptr, *k_norm = nullptr;             // [D]: weights; both null: no norms
  const float *cos = nullptr, *sin = nullptr;               // [table rows, D/2]: RoPE tables
  const int64_t* angles = nullptr;                          // [N]: the token's row in `cos` and `sin`
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;  // N, H, Hkv, D
  int64_t shift = 0;      // 2^shift lanes work on a head; 2^shift is the smallest power of 2 >= vectors()
  float eps = 0;          // added to the mean square in the norms
  float inverse_dim = 0;  // 1 / D

  /// Returns the number of 16-byte vectors in half a head.
  ROLL_HOST_DEVICE int64_t vectors() const { return head_dim / 2 / kVec<T>; }
  ROLL_HOST_DEVICE bool has_norms() const { return q_norm != nullptr; }
};

/// Index of a head in a [token, head] array.
struct HeadPosition {
  int64_t token, head;

  /// Returns the index k heads later, for `heads` heads per token, without a division in every lane.
  ROLL_HOST_DEVICE HeadPosition next_head(int64_t k, int64_t heads) const {
    HeadPosition position = {token, head + k};
    for (; position.head >= heads; position.head -= heads) ++position.token;
    return position;
  }
};

/// The pairs that RoPE rotates together: vector j of a head's first half (low) and of its second half (high), float32.
template <class T>
struct Halves {
  WideVec<T> low, high;
};

/// Loads vector j of both halves. head: its first element; vectors: HeadRows::vectors().
template <class Block, class T>
ROLL_KERNEL_TEXT Halves<T> load_halves(const Block& block, const T* head, int64_t j, int64_t vectors) {
  return {load_widened(block, head, j), load_widened(block, head, j + vectors)};
}

/// Applies RoPE (sign 1), or its inverse, which is also its gradient (sign -1).
template <class T>
ROLL_HOST_DEVICE Halves<T> rotated_halves(const Halves<T>& x, const WideVec<T>& cos, const WideVec<T>& sin,
                                          float sign) {
  Halves<T> out;
  for (int i = 0; i < kVec<T>; ++i) {
    const float s = sign * sin.at[i];
    out.low.at[i] = x.low.at[i] * cos.at[i] - x.high.at[i] * s;
    out.high.at[i] = x.high.at[i] * cos.at[i] + x.low.at[i] * s;
  }
  return out;
}

/// Stores vector j of both halves, rounded to T, at the head that begins at `head`.
template <class Block, class T>
ROLL_KERNEL_TEXT void store_halves(const Block& block, T* head, int64_t j, int64_t vectors, const Halves<T>& x) {
  Vec<T> low, high;
  for (int i = 0; i < kVec<T>; ++i) {
    store(low.at[i], x.low.at[i]);
    store(high.at[i], x.high.at[i]);
  }
  store_vec(block, head, j, low);
  store_vec(block, head, j + vectors, high);
}

/// Returns the dot product of a and b.
template <class T>
ROLL_HOST_DEVICE float product(const Halves<T>& a, const Halves<T>& b) {
  float sum = 0;
  for (int i = 0; i < kVec<T>; ++i) sum += a.low.at[i] * b.low.at[i] + a.high.at[i] * b.high.at[i];
  return sum;
}

/// Kernel: q/k norm and RoPE of all queries and keys; values are neither read nor written. May work in place (out =
/// qkv) without norms; with norms, backward needs the unchanged qkv.
template <class T>
struct RotateHeads {
  static constexpr int kLanes = 128, kHeads = 32;  // kHeads: heads per block
  template <class Block>
  struct Shared {
    // Per head of the block: sum of squares; index of its first element in qkv, in out, and in cos and sin.
    typename Block::template Cell<float> scale[kHeads];
    typename Block::template Cell<int64_t> from[kHeads], to[kHeads], angle[kHeads];
    typename Block::template Cell<int32_t> kind[kHeads];  // 0 query, 1 key
  };
  HeadRows<T> shape;
  const T* qkv = nullptr;  // [N, (H + 2 Hkv) D]
  T* out = nullptr;        // [N, out_heads D]: rotated queries, then keys
  int64_t out_heads = 0;   // H + Hkv, or H + 2 Hkv if out = qkv

  /// Returns the number of rotated heads of all tokens.
  ROLL_HOST_DEVICE int64_t total() const { return shape.rows * (shape.heads + shape.kv_heads); }
  int64_t num_blocks() const { return (total() + kHeads - 1) / kHeads; }
  /// Bytes read and written, without cos and sin, which stay in the GPU's cache.
  int64_t bytes() const { return total() * shape.head_dim * 2 * static_cast<int64_t>(sizeof(T)); }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, Shared<Block>& shared, int64_t index) const {
    const int64_t num_rotated_heads = shape.heads + shape.kv_heads, dim = shape.head_dim, vectors = shape.vectors();
    const int64_t first = index * kHeads, count = smaller(kHeads, total() - first), shift = shape.shift;
    const HeadPosition begin = {first / num_rotated_heads, first % num_rotated_heads};
    block.each(count, [&](int64_t k) {
      const auto [token, head] = begin.next_head(k, num_rotated_heads);
      shared.from[k] = (token * (num_rotated_heads + shape.kv_heads) + head) * dim;
      shared.to[k] = (token * out_heads + head) * dim;
      shared.angle[k] = shape.angles[token] * (dim / 2);
      shared.kind[k] = head >= shape.heads ? 1 : 0;
    });
    if (shape.has_norms()) {
      block.sum_chunks(
          count << shift, int64_t{1} << shift,
          [&](int64_t i) {
            const int64_t k = i >> shift, j = i & ((int64_t{1} << shift) - 1);
            if (j >= vectors) return 0.0f;
            const Halves<T> x = load_halves(block, qkv + shared.from[k], j, vectors);
            return product(x, x);
          },
          shared.scale);
    }
    block.each(count << shift, [&](int64_t i) {
      const int64_t k = i >> shift, j = i & ((int64_t{1} << shift) - 1);
      if (j >= vectors) return;
      Halves<T> x = load_halves(block, qkv + shared.from[k], j, vectors);
      if (shape.has_norms()) {
        const float scale = reciprocal_root(shared.scale[k] * shape.inverse_dim + shape.eps);
        const Halves<T> weight = load_halves(block, shared.kind[k] == 1 ? shape.k_norm : shape.q_norm, j, vectors);
        for (int e = 0; e < kVec<T>; ++e) {
          x.low.at[e] *= scale * weight.low.at[e];
          x.high.at[e] *= scale * weight.high.at[e];
        }
      }
      const WideVec<T> cos = load_floats<T>(block, shape.cos + shared.angle[k], j),
                       sin = load_floats<T>(block, shape.sin + shared.angle[k], j);
      store_halves(block, out + shared.to[k], j, vectors, rotated_halves(x, cos, sin, 1));
    });
  }
};

/// Kernel: backward of RotateHeads. Writes the gradient of the packed QKV tensor from those of q, k and v. With norms,
/// each block also writes its part of the gradients of both norm weights; the caller sums the parts with SumParts.
template <class T>
struct RotateHeadsBackward {
  static constexpr int kLanes = 128, kHeads = 64, kGroups = 4, kMaxHeadDim = 256;
  template <class Block>
  struct Shared {
    alignas(32) typename Block::template Cell<float> parts[kGroups][2][kMaxHeadDim];  // gradients of q_norm, k_norm
    // Per head of the block: find_scales(); index of its first element in dq, dk or dv, in d_qkv, and in cos and sin.
    typename Block::template Cell<float> scale[kHeads], pull[kHeads];
    typename Block::template Cell<int64_t> from[kHeads], to[kHeads], angle[kHeads];
    typename Block::template Cell<int32_t> kind[kHeads];  // 0 query, 1 key, 2 value
  };
  HeadRows<T> shape;
  const T* qkv = nullptr;                // [N, (H + 2 Hkv) D]: input of forward; only read with norms
  const T* dq = nullptr;                 // [N, H, D]: gradient by the rotated queries
  const T *dk = nullptr, *dv = nullptr;  // [N, Hkv, D] each: by the rotated keys, by the values
  T* d_qkv = nullptr;                    // [N, (H + 2 Hkv) D]
  float* d_norm_parts = nullptr;         // [num_blocks(), 2 D]: q_norm's part, k_norm's; only written with norms

  ROLL_HOST_DEVICE int64_t all_heads() const { return shape.heads + 2 * shape.kv_heads; }
  /// Returns the number of query, key and value heads of all tokens.
  ROLL_HOST_DEVICE int64_t total() const { return shape.rows * all_heads(); }
  int64_t num_blocks() const { return (total() + kHeads - 1) / kHeads; }
  /// Bytes read and written, without cos and sin.
  int64_t bytes() const {
    const int64_t norms = shape.has_norms() ? shape.rows * (shape.heads + shape.kv_heads) * shape.head_dim : 0;
    return (total() * shape.head_dim * 2 + norms) * static_cast<int64_t>(sizeof(T)) +
           (shape.has_norms() ? num_blocks() * shape.head_dim * 8 : 0);
  }

  /// Returns dq, dk or dv for kind 0, 1 or 2.
  ROLL_HOST_DEVICE const T* gradient(int32_t kind) const { return kind == 0 ? dq : kind == 1 ? dk : dv; }

  /// Returns the gradient before RoPE (by the normed head), for vector j of the halves of the block's k-th head.
  template <class Block>
  ROLL_KERNEL_TEXT Halves<T> rotated_back(const Block& block, const Shared<Block>& shared, int64_t k, int64_t j) const {
    const WideVec<T> cos = load_floats<T>(block, shape.cos + shared.angle[k], j),
                     sin = load_floats<T>(block, shape.sin + shared.angle[k], j);
    return rotated_halves(load_halves(block, gradient(shared.kind[k]) + shared.from[k], j, shape.vectors()), cos, sin,
                          -1);
  }
  /// Returns x times vector j of the halves of a norm's weight.
  template <class Block>
  ROLL_KERNEL_TEXT Halves<T> weighted(const Block& block, const Halves<T>& x, const T* norm, int64_t j) const {
    Halves<T> d = x;
    const Halves<T> weight = load_halves(block, norm, j, shape.vectors());
    for (int e = 0; e < kVec<T>; ++e) {
      d.low.at[e] *= weight.low.at[e];
      d.high.at[e] *= weight.high.at[e];
    }
    return d;
  }

  /// Fills kind, from, to and angle in `shared` for the block's heads [first, first + count).
  template <class Block>
  ROLL_KERNEL_TEXT void find_heads(const Block& block, Shared<Block>& shared, int64_t first, int64_t count) const {
    const HeadPosition begin = {first / all_heads(), first % all_heads()};
    block.each(count, [&](int64_t k) {
      const auto [token, head] = begin.next_head(k, all_heads());
      const int32_t kind = head < shape.heads ? 0 : head < shape.heads + shape.kv_heads ? 1 : 2;
      const int64_t head_in_kind = head - (kind == 0 ? 0 : kind == 1 ? shape.heads : shape.heads + shape.kv_heads);
      shared.kind[k] = kind;
      shared.from[k] = (token * (kind == 0 ? shape.heads : shape.kv_heads) + head_in_kind) * shape.head_dim;
      shared.to[k] = (token * all_heads() + head) * shape.head_dim;
      shared.angle[k] = shape.angles[token] * (shape.head_dim / 2);
    });
  }

  /// Computes scale = r and pull = r^2 mean(g x) per head; r, g and x as in NormRowsBackward (layer_kernels.h).
  template <class Block>
  ROLL_KERNEL_TEXT void find_scales(const Block& block, Shared<Block>& shared, int64_t count) const {
    const int64_t shift = shape.shift, lanes = int64_t{1} << shift, vectors = shape.vectors();
    const auto sum = [&](auto* sums, const auto& f) {
      block.sum_chunks(
          count << shift, lanes,
          [&](int64_t i) {
            const int64_t k = i >> shift, j = i & (lanes - 1);
            return j < vectors && shared.kind[k] < 2 ? f(k, j) : 0.0f;
          },
          sums);
    };
    sum(shared.scale, [&](int64_t k, int64_t j) {
      const Halves<T> x = load_halves(block, qkv + shared.to[k], j, vectors);
      return product(x, x);
    });
    sum(shared.pull, [&](int64_t k, int64_t j) {
      const T* const norm = shared.kind[k] == 0 ? shape.q_norm : shape.k_norm;
      return product(weighted(block, rotated_back(block, shared, k, j), norm, j),
                     load_halves(block, qkv + shared.to[k], j, vectors));
    });
    block.each(count, [&](int64_t k) {
      const float r = reciprocal_root(shared.scale[k] * shape.inverse_dim + shape.eps);
      shared.scale[k] = r;
      shared.pull[k] *= r * r * shape.inverse_dim;
    });
  }

  /// Writes the block's part of the norm-weight gradients: sums over groups of heads, then over the groups.
  template <class Block>
  ROLL_KERNEL_TEXT void sum_norms(const Block& block, Shared<Block>& shared, int64_t index, int64_t count) const {
    const int64_t shift = shape.shift, lanes = int64_t{1} << shift, vectors = shape.vectors(), dim = shape.head_dim;
    block.each(static_cast<int64_t>(2 * kGroups) << shift, [&](int64_t i) {
      const int64_t j = i & (lanes - 1), kind = i >> shift & 1, group = i >> shift >> 1;
      if (j >= vectors) return;
      Halves<T> part = {};
      for (int64_t k = group; k < count; k += kGroups) {
        if (shared.kind[k] != kind) continue;
        const Halves<T> d = rotated_back(block, shared, k, j), x = load_halves(block, qkv + shared.to[k], j, vectors);
        for (int e = 0; e < kVec<T>; ++e) {
          part.low.at[e] += d.low.at[e] * x.low.at[e] * shared.scale[k];
          part.high.at[e] += d.high.at[e] * x.high.at[e] * shared.scale[k];
        }
      }
      block.template store<kVec<T>>(shared.parts[group][kind] + j * kVec<T>, part.low);
      block.template store<kVec<T>>(shared.parts[group][kind] + (j + vectors) * kVec<T>, part.high);
    });
    block.each(2 * dim, [&](int64_t i) {
      const int64_t kind = i >= dim ? 1 : 0, d = i - kind * dim;
      float sum = 0;
      for (int group = 0; group < kGroups; ++group) sum += shared.parts[group][kind][d];
      d_norm_parts[index * 2 * dim + i] = sum;
    });
  }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, Shared<Block>& shared, int64_t index) const {
    const int64_t first = index * kHeads, count = smaller(kHeads, total() - first), vectors = shape.vectors();
    const int64_t shift = shape.shift, lanes = int64_t{1} << shift;
    find_heads(block, shared, first, count);
    if (shape.has_norms()) find_scales(block, shared, count);
    block.each(count << shift, [&](int64_t i) {
      const int64_t k = i >> shift, j = i & (lanes - 1);
      if (j >= vectors) return;
      if (shared.kind[k] == 2)
        return store_halves(block, d_qkv + shared.to[k], j, vectors,
                            load_halves(block, dv + shared.from[k], j, vectors));
      Halves<T> d = rotated_back(block, shared, k, j);
      if (shape.has_norms()) {
        d = weighted(block, d, shared.kind[k] == 0 ? shape.q_norm : shape.k_norm, j);
        const Halves<T> x = load_halves(block, qkv + shared.to[k], j, vectors);
        for (int e = 0; e < kVec<T>; ++e) {
          d.low.at[e] = shared.scale[k] * (d.low.at[e] - x.low.at[e] * shared.pull[k]);
          d.high.at[e] = shared.scale[k] * (d.high.at[e] - x.high.at[e] * shared.pull[k]);
        }
      }
      store_halves(block, d_qkv + shared.to[k], j, vectors, d);
    });
    if (shape.has_norms()) sum_norms(block, shared, index, count);
  }
};

}  // namespace roll
