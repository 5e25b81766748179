// The recurrence of gated delta nets over packed sequences (Yang, Kautz, Hatamizadeh 2024, "Gated Delta Networks"), in
// LibTorch's operators, for training and tensor_decoder. Inputs first pass a causal depthwise convolution and SiLU,
// which give each token queries, keys and values. Each value head has a state S [Dk, Dv], which a token updates and
// reads:
//   S = exp(decay) S;  S += rate * k (v - k^T S)^T;  out = S^T q
// k and q are normalised to length 1, and q is divided by sqrt(Dk). All is computed in the dtype of `decay`, float32 or
// float64. Tokens are computed in chunks: matrix products and one triangular solve within a chunk (section 3.3, the WY
// form), the state from chunk to chunk. If each sequence has one token (decode), the equations above are used. Both
// ways agree up to rounding.
// Legend: T packed tokens, B sequences, Hk key heads, Hv value heads, Dk key size, Dv value size, C = 2 Hk Dk + Hv Dv
// channels of the convolution, W its taps (its width in tokens).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// Numbers of heads and their sizes, on this tensor rank.
struct DeltaHeads {
  int64_t key_heads = 0, value_heads = 0;  // key heads divide value heads, which share them in order
  int64_t key_dim = 0, value_dim = 0;

  /// Returns C, the number of convolved channels.
  int64_t convolved() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

/// Inputs of one delta net.
struct DeltaRows {
  at::Tensor mixed;  // [T, C]: queries of all key heads, keys of all key heads, values, before the convolution
  at::Tensor taps;   // [C, W]: weights of the convolution; the last tap weights the token itself
  at::Tensor decay;  // [T, Hv] float32 or float64, at most 0: log of the factor by which the state decays
  at::Tensor rate;   // [T, Hv] in the same dtype, from 0 to 1: strength of the correction
};

/// State after a sequence's tokens so far, from which its next tokens continue.
struct DeltaStates {
  at::Tensor heads;  // [B, Hv, Dk, Dv]: the states S
  at::Tensor tails;  // [B, W - 1, C]: `mixed` of the last W - 1 tokens, zeros before the first token
};

/// Index tables of plan_delta(), for gated_delta_rule() alone. Scan step i computes chunk i of all sequences that have
/// one.
struct DeltaPlan {
  std::vector<int64_t> cu_seqlens;  // [B+1] from 0: sequence b is tokens [cu_seqlens[b], cu_seqlens[b + 1])
  int64_t chunk = 1;                // tokens per chunk
  // [W, T] int64: row of `mixed` that a tap of a token reads; T + i: row i of the old tails [B (W - 1), C].
  at::Tensor taps;
  at::Tensor tails;  // [B, W - 1] int64: rows, numbered as in `taps`, that become the new tails
  // [chunks of all sequences * chunk] int64: tokens of each chunk, with the chunks by scan step, then by sequence
  // (longest first). The index T stands for padding.
  at::Tensor chunked;
  at::Tensor chunk_indices;     // [T] int64: index of each token in `chunked`
  std::vector<int64_t> active;  // number of sequences with a chunk at each scan step
  at::Tensor order;             // [B] int64: the sequences, the longest first
  at::Tensor back;              // [B] int64: index of each sequence in `order`
};

/// Makes the plan for packed sequences; one plan serves all layers. `num_taps`: W. Throws Bug if a sequence is empty.
DeltaPlan plan_delta(std::vector<int64_t> cu_seqlens, int64_t num_taps, at::Device device);

/// Returns the outputs [T, Hv, Dv] in the dtype of rows.decay. `states`: each sequence's state before its tokens, which
/// is replaced by the state after them; null: all states start at zero and are not returned, and the result is
/// differentiable. Throws Bug if the plan is for another number of tokens.
at::Tensor gated_delta_rule(const DeltaHeads& heads, const DeltaRows& rows, const DeltaPlan& plan,
                            DeltaStates* states = nullptr);

}  // namespace roll
