// Bias, q/k norm, RoPE and scale of a row's queries and keys on the CPU, between the QKV GEMM and the pages; used by
// cpu_decoder.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/backbone.h"
#include "model/spec.h"

namespace roll {

/// Returns the tensor as contiguous float32; undefined stays undefined.
at::Tensor as_float(const at::Tensor& tensor);
/// Returns the data of a float32 tensor; null if undefined.
const float* data_or_null(const at::Tensor& tensor);
/// Returns a norm's weight (offset added) as float32; undefined if the model has no such norm.
at::Tensor norm_weight(const LayerWeights& weights, const NormShape& norm);

/// RoPE tables of one rope of a model.
struct Angles {
  at::Tensor cos, sin;  // [max_length, R/2] float32
  at::Tensor growth;    // [max_length] float32, factor of queries; undefined: 1
};

/// Returns the tables in the order of spec.ropes().
std::vector<Angles> rope_angles(const ModelSpec& spec, int64_t max_length);

/// Parameters of the heads of an attention block; null pointers: the model has none.
struct CpuHeads {
  CpuHeads(const RotaryRule& rope_settings, const std::vector<Angles>& rope_tables);

  int64_t heads = 0, kv_heads = 0, head_dim = 0;  // on this rank
  const float *bias = nullptr, *q_norm = nullptr, *k_norm = nullptr;
  bool norms_together = false;  // q/k norm over all heads at once
  float scale = 1, eps = 0;

  /// Processes a row in place. qkv: [(heads + 2 kv_heads) head_dim], queries, keys, values.
  void finish(float* qkv, int64_t position) const;

 private:
  RotaryRule rope_;
  const float *cos_ = nullptr, *sin_ = nullptr, *growth_ = nullptr;
  int64_t half_ = 0;
};

}  // namespace roll
