#include "decode/cpu_heads.h"

#include <ATen/ATen.h>

#include "ops/layer_ops.h"
#include "ops/row_ops.h"

namespace roll {

at::Tensor as_float(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kFloat).contiguous() : tensor;
}

const float* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

at::Tensor norm_in(const LayerWeights& weights, const NormShape& norm) {
  const at::Tensor own = as_float(weights[norm]);
  return norm.offset != 0 && own.defined() ? own + norm.offset : own;
}

std::vector<Angles> rope_angles(const ModelSpec& spec, int64_t max_length) {
  const at::Tensor positions = at::arange(max_length, at::kFloat);
  std::vector<Angles> all;
  for (const Rope& rope : spec.ropes()) {
    const Rotation turned = make_rotation(inverse_frequencies(rope), positions, {}, rope.attention_factor);
    all.push_back({turned.cos, turned.sin, rope.query_growth != 0 ? query_growth(rope, positions) : at::Tensor()});
  }
  return all;
}

CpuHeads::CpuHeads(const RotaryRule& how, const std::vector<Angles>& all) : turning_(how) {
  if (how.rope < 0) return;
  const Angles& angles = all[static_cast<size_t>(how.rope)];
  half_ = angles.cos.size(1);
  cos_ = angles.cos.const_data_ptr<float>();
  sin_ = angles.sin.const_data_ptr<float>();
  if (angles.growth.defined()) growth_ = angles.growth.const_data_ptr<float>();
}

void CpuHeads::finish(float* qkv, int64_t position) const {
  float *const q = qkv, *const k = q + heads * head_dim, *const v = k + kv_heads * head_dim;
  if (bias) add_to_row(q, bias, nullptr, (heads + 2 * kv_heads) * head_dim);
  if (q_norm && norms_together) {
    norm_row(q, q_norm, q, k - q, eps);
    norm_row(k, k_norm, k, v - k, eps);
  }
  const auto rotate = turning_.interleaved ? rotate_head_interleaved : rotate_head;
  for (float* head = q; head < v; head += head_dim) {
    const float* const norm = head < k ? q_norm : k_norm;
    if (norm && !norms_together) norm_row(head, norm, head, head_dim, eps);
    if (cos_) rotate(head, cos_ + position * half_, sin_ + position * half_, 2 * half_);
  }
  const float factor = growth_ ? scale * growth_[position] : scale;
  for (float* x = q; x < k; ++x) *x *= factor;
}

}  // namespace roll
