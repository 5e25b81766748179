// A model whose numbers tell: far from uniform predictions, and no norm or bias that could be left out unseen.
#pragma once

#include <ATen/ATen.h>

#include "model/init_spec.h"
#include "model/transformer.h"

namespace roll::test {

/// Random weights, with every bias that the architecture knows.
inline Transformer telling_model(const InitSizes& sizes, const Architectures& known = architectures()) {
  ModelSpec spec = make_spec(sizes, {}, known);
  if (spec.architecture->mlp_bias == Bias::kByConfig) spec.qkv_bias = spec.o_bias = spec.mlp_bias = true;
  Transformer model = Transformer::init(spec, 1);
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : model.parameters()) {
    if (tensor.dim() == 2) tensor.mul_(8);
    if (tensor.dim() == 1) tensor.add_(at::linspace(-0.5, 0.5, tensor.numel()));
  }
  return model;
}

}  // namespace roll::test
