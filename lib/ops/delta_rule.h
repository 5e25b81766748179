// The gated delta rule behind a short causal convolution, over packed sequences (Yang, Kautz, Hatamizadeh 2024, "Gated
// Delta Networks"). A value head has a state S [Dk, Dv]; with token t's key k, value v, query q (both of length 1, q
// divided by sqrt(Dk)), decay g <= 0 and rate b:
//   S = exp(g) S;  S += b k (v - k^T S)^T;  out = S^T q
// Tokens are computed in chunks (section 3.3, the WY form): within a chunk by products and one triangular solve, from
// chunk to chunk by the state; where each sequence has one token, by the equations above. Both give the same numbers,
// up to rounding, in float32 (float64).
// Legend: T packed tokens, B sequences, C convolved numbers (2 Hk Dk + Hv Dv), W taps, Hk key heads, Hv value heads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roll {

/// Of this rank.
struct DeltaHeads {
  int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;

  /// C
  int64_t convolved() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
};

struct DeltaRows {
  at::Tensor mixed;        // [T, C]: queries, keys and values before the convolution
  at::Tensor taps;         // [C, W], the last of the token itself
  at::Tensor decay, rate;  // [T, Hv] float32 or float64
};

/// What sequences leave to their next tokens.
struct DeltaStates {
  at::Tensor heads;  // [B, Hv, Dk, Dv]
  at::Tensor tails;  // [B, W - 1, C]: the last rows before the convolution
};

/// How sequences lie in chunks: made once for all layers.
struct DeltaPlan {
  std::vector<int64_t> cu_seqlens;  // [B+1]
  int64_t chunk = 1;                // tokens of one
  at::Tensor taps;                  // [W, T] int64: rows of mixed under each tap; from T on those of tails
  at::Tensor tails;                 // [B, W - 1] int64, likewise
  at::Tensor chunked;               // [chunks * chunk] int64: tokens by step and sequence; T: none
  at::Tensor places;                // [T] int64: where among these a token is
  std::vector<int64_t> active;      // of each step of the scan: sequences that have such a chunk, the longest first
  at::Tensor order, back;           // [B] int64: sequences, the longest first; and where each is
};

/// Sequences of at least one token each.
DeltaPlan plan_delta(std::vector<int64_t> cu_seqlens, int64_t num_taps, at::Device device);

/// [T, Hv, Dv] in the decay's dtype. `states`: those before the tokens become those behind them; null: sequences begin
/// here, and what they leave is not wanted. Differentiable where `states` is null.
at::Tensor gated_delta_rule(const DeltaHeads& heads, const DeltaRows& rows, const DeltaPlan& plan,
                            DeltaStates* states = nullptr);

}  // namespace roll
