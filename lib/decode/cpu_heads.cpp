#include "decode/cpu_heads.h"

#include "ops/row_ops.h"

namespace roll {

CpuHeads::CpuHeads(const RotaryRule& rope_settings, const std::vector<Angles>& rope_tables) : rope_(rope_settings) {
  if (rope_settings.rope < 0) return;
  const Angles& angles = rope_tables[static_cast<size_t>(rope_settings.rope)];
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
  const auto rotate = rope_.interleaved ? rotate_head_interleaved : rotate_head;
  for (float* head = q; head < v; head += head_dim) {
    const float* const norm = head < k ? q_norm : k_norm;
    if (norm && !norms_together && !norms_after_rope) norm_row(head, norm, head, head_dim, eps);
    if (cos_) rotate(head, cos_ + position * half_, sin_ + position * half_, 2 * half_);
    if (norm && norms_after_rope) norm_row(head, norm, head, head_dim, eps);
  }
  const float factor = growth_ ? scale * growth_[position] : scale;
  for (float* x = q; x < k; ++x) *x *= factor;
}

}  // namespace roll
