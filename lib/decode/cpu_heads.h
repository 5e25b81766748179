// Bias, q/k norm, RoPE and scaling of a token's queries, keys and values on the CPU, between the QKV GEMM and the key/
// value pages; used by cpu_decoder.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/backbone.h"
#include "model/spec.h"

namespace roll {

/// Returns the tensor detached and as contiguous float32, a copy only if needed; an undefined tensor stays undefined.
at::Tensor as_float(const at::Tensor& tensor);
/// Returns the data of a float32 tensor, which must outlive the use of the pointer; null if undefined.
const float* data_or_null(const at::Tensor& tensor);
/// Returns the factor of an RMS norm as float32: its weight, plus the offset of models that store weight - 1. Undefined
/// if the model has no such norm.
at::Tensor norm_weight(const LayerWeights& weights, const NormShape& norm);

/// Tables of one RoPE variant (Rope) of a model, by position. R: rotated elements of a head.
struct Angles {
  at::Tensor cos, sin;  // [max_length, R/2] float32
  at::Tensor growth;    // [max_length] float32: factor of queries by position (Rope::query_growth); undefined: 1
};

/// Returns the tables of all ropes of the model, in the order of spec.ropes(), for positions below max_length.
std::vector<Angles> rope_angles(const ModelSpec& spec, int64_t max_length);

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
