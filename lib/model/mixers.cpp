#include "model/mixers.h"

#include <ATen/ATen.h>

#include "ops/accumulating_linear.h"

namespace roll {

namespace {

at::Tensor apply(const Linear& linear, const at::Tensor& x) {
  return accumulating_linear(x, linear.weight, linear.bias);
}

/// The product whose input dimension is cut over ranks; its bias is added once, to the sum.
at::Tensor apply_columns(const Linear& linear, const at::Tensor& x, const ParallelFlow& flow) {
  const at::Tensor sum = flow.leave(accumulating_linear(x, linear.weight));
  return linear.bias.defined() ? sum + linear.bias : sum;
}

at::Tensor mix(const Attention& attention, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  const auto heads = [&](const LinearShape& projection) {
    return apply(weights[projection], x).view({x.size(0), -1, attention.head_dim});
  };
  const auto turned = [&](const at::Tensor& raw, const at::Tensor& norm) {
    return rotate(norm.defined() ? rms_norm(raw, norm, pass.eps) : raw, pass.rotation);
  };
  const at::Tensor mixed = pass.attend(attention, turned(heads(attention.q), weights[attention.q_norm]),
                                       turned(heads(attention.k), weights[attention.k_norm]), heads(attention.v));
  return apply_columns(weights[attention.o], mixed.reshape({x.size(0), -1}), pass.flow);
}

at::Tensor mix(const GatedMlp& mlp, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  const at::Tensor gated = swiglu(apply(weights[mlp.gate], x), apply(weights[mlp.up], x));
  return apply_columns(weights[mlp.down], gated, pass.flow);
}

}  // namespace

at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass) {
  at::Tensor sum = x;
  for (const Block& block : layer.layer()) {
    const at::Tensor entered = pass.flow.enter(rms_norm(sum, layer[block.norm], pass.eps));
    sum = sum + std::visit([&](const auto& mixer) { return mix(mixer, layer, entered, pass); }, block.mixer);
  }
  return sum;
}

}  // namespace roll
