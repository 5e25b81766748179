// Queries and keys of a row on the CPU, between their product and the pages: biases, norms, turning, scale; and the
// numbers that this reads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/backbone.h"
#include "model/spec.h"

namespace roll {

/// Contiguous, or undefined as it is.
at::Tensor as_float(const at::Tensor& tensor);
/// Of float32 numbers; null: undefined.
const float* data_or_null(const at::Tensor& tensor);
/// The numbers that a norm multiplies by; undefined: there is none.
at::Tensor norm_in(const LayerWeights& weights, const NormShape& norm);

/// The angles of one of a model's rotations.
struct Angles {
  at::Tensor cos, sin;  // [max_length, R/2] float32
  at::Tensor growth;    // [max_length] float32, of queries; undefined: 1
};

/// In the order of the spec's ropes.
std::vector<Angles> angles_of(const ModelSpec& spec, int64_t max_length);

/// What an attention's heads are given; null: the model has none.
struct CpuHeads {
  CpuHeads(const Turning& how, const std::vector<Angles>& all);

  int64_t heads = 0, kv_heads = 0, head_dim = 0;  // of this rank
  const float *bias = nullptr, *q_norm = nullptr, *k_norm = nullptr;
  bool norms_together = false;  // over all heads
  float scale = 1, eps = 0;

  /// A row of queries, keys and values, side by side.
  void finish(float* qkv, int64_t position) const;

 private:
  Turning turning_;
  const float *cos_ = nullptr, *sin_ = nullptr, *growth_ = nullptr;
  int64_t half_ = 0;
};

}  // namespace roll
