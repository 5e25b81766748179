#include "decode/float_weights.h"

#include <ATen/ATen.h>

#include "ops/layer_ops.h"

namespace roll {

at::Tensor as_float(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kFloat).contiguous() : tensor;
}

const float* data_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

at::Tensor norm_weight(const LayerWeights& weights, const NormShape& norm) {
  const at::Tensor weight = as_float(weights[norm]);
  return norm.offset != 0 && weight.defined() ? weight + norm.offset : weight;
}

at::Tensor final_norm_weight(const Backbone& backbone, const ModelSpec& spec) {
  return (as_float(backbone.final_norm()) + spec.norm_offset()) * spec.logit_scale;
}

std::vector<Angles> rope_angles(const ModelSpec& spec, int64_t max_length) {
  const at::Tensor positions = at::arange(max_length, at::kFloat);
  std::vector<Angles> rope_tables;
  for (const Rope& rope : spec.ropes()) {
    const Rotation rotation = make_rotation(inverse_frequencies(rope), positions, {}, rope.attention_factor);
    rope_tables.push_back(
        {rotation.cos, rotation.sin, rope.query_growth != 0 ? query_growth(rope, positions) : at::Tensor()});
  }
  return rope_tables;
}

}  // namespace roll
