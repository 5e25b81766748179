// The gated delta rule after a short causal convolution, over packed sequences (Yang, Kautz, Hatamizadeh 2024, "Gated
// Delta Networks"). A value head has a state S [Dk, Dv]. With a token's key k and query q (both normalised to length 1,
// q then divided by sqrt(Dk)), value v, decay g <= 0 and rate b:
//   S = exp(g) S;  S += b k (v - k^T S)^T;  out = S^T q
// Tokens are computed in chunks (section 3.3, the WY form): matrix products and one triangular solve within a chunk,
// the state between chunks. If each sequence has one token (decode), the equations above are used. Both agree up to
// rounding, in float32 (float64).
// Legend: T packed tokens, B sequences, C convolved channels (2 Hk Dk + Hv Dv), W taps, Hk key heads, Hv value heads,
// Dk key size, Dv value size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// Head counts and sizes on this rank.
struct DeltaHeads {
  int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;

  /// Returns C, the number of convolved channels.
  int64_t convolved() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

struct DeltaRows {
  at::Tensor mixed;        // [T, C]: queries, keys and values before the convolution
  at::Tensor taps;         // [C, W]: convolution weights; the last tap reads the token itself
  at::Tensor decay, rate;  // [T, Hv] float32 or float64
};

/// State that sequences carry to their next tokens.
struct DeltaStates {
  at::Tensor heads;  // [B, Hv, Dk, Dv]
  at::Tensor tails;  // [B, W - 1, C]: the last rows before the convolution
};

/// Layout of the sequences in chunks; computed once for all layers.
struct DeltaPlan {
  std::vector<int64_t> cu_seqlens;  // [B+1]
  int64_t chunk = 1;                // tokens per chunk
  at::Tensor taps;                  // [W, T] int64: row of `mixed` that each tap reads; T + i: row i of the old tails
  at::Tensor tails;                 // [B, W - 1] int64: rows, numbered like taps, that become the new tails
  at::Tensor chunked;               // [chunks * chunk] int64: tokens, by scan step, then by sequence; T: padding
  at::Tensor chunk_indices;         // [T] int64: index of each token in `chunked`
  std::vector<int64_t> active;      // number of sequences with a chunk at each scan step
  at::Tensor order, back;           // [B] int64: sequences, the longest first; index of each sequence in `order`
};

/// Plans the chunks of packed sequences. Bug: a sequence is empty.
DeltaPlan plan_delta(std::vector<int64_t> cu_seqlens, int64_t num_taps, at::Device device);

/// Returns the outputs [T, Hv, Dv] in the decay's dtype. `states` holds the states before the tokens and is overwritten
/// with the states after them. Null: sequences start from zero and no states are returned; only then differentiable.
at::Tensor gated_delta_rule(const DeltaHeads& heads, const DeltaRows& rows, const DeltaPlan& plan,
                            DeltaStates* states = nullptr);

}  // namespace roll
