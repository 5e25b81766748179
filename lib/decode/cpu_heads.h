// Bias, q/k norm, RoPE and scaling of a token's queries, keys and values on the CPU, between the QKV GEMM and the key/
// value pages; used by cpu_decoder.h.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/float_weights.h"

namespace roll {

/// Finishes the queries, keys and values of an attention block. Set the fields, then call finish() for each row, from
/// any thread.
struct CpuHeads {
  /// rope_tables: result of rope_angles(), which must outlive this object; rope_settings.rope: index into it, or -1 for
  /// a block without RoPE.
  CpuHeads(const RotaryRule& rope_settings, const std::vector<Angles>& rope_tables);

  int64_t heads = 0, kv_heads = 0, head_dim = 0;  // on this rank
  const float* bias = nullptr;                    // [(heads + 2 kv_heads) head_dim]; null: none
  /// Weights, [head_dim] each; if norms_together, [heads head_dim] and [kv_heads head_dim]. Null: no norms.
  const float *q_norm = nullptr, *k_norm = nullptr;
  bool norms_together = false;    // true: one norm over all query heads, one over all key heads; false: one per head
  bool norms_after_rope = false;  // the norms of each head follow RoPE
  float scale = 1;                // factor of the queries
  float eps = 0;                  // added to the mean square in the norms

  /// Processes a row in place: adds the bias, norms and rotates queries and keys, scales queries. qkv: [(heads + 2
  /// kv_heads) head_dim], queries, keys, values. position: index of the token in its sequence, below max_length.
  void finish(float* qkv, int64_t position) const;

 private:
  RotaryRule rope_;
  const float *cos_ = nullptr, *sin_ = nullptr, *growth_ = nullptr;
  int64_t half_ = 0;
};

}  // namespace roll
