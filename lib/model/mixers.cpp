#include "model/mixers.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "model/experts.h"
#include "ops/accumulating_linear.h"
#include "ops/fused_layer.h"

namespace roll {

namespace {

at::Tensor with_bias(const Linear& linear, const at::Tensor& sum) {
  return linear.bias.defined() ? sum + linear.bias : sum;
}

at::Tensor apply(const Linear& linear, const at::Tensor& x) {
  return linear.is_plain() ? accumulating_linear(x, linear.weight, linear.bias) : with_bias(linear, product(linear, x));
}

/// The product whose input dimension is cut over ranks; its bias is added once, to the sum.
at::Tensor apply_columns(const Linear& linear, const at::Tensor& x, const ParallelFlow& flow) {
  return with_bias(linear, flow.leave(product(linear, x)));
}

/// Products with x, side by side.
at::Tensor apply_packed(const LayerWeights& weights, const std::vector<const LinearShape*>& parts,
                        const at::Tensor& x) {
  std::vector<at::Tensor> matrices, biases;
  for (const LinearShape* part : parts) {
    const Linear& linear = weights[*part];
    matrices.push_back(linear.weight);
    if (linear.bias.defined()) biases.push_back(linear.bias);
  }
  if (std::ranges::all_of(parts, [&](const LinearShape* part) { return weights[*part].is_plain(); }))
    return packed_linear(x, matrices, biases);
  std::vector<at::Tensor> results;
  for (const LinearShape* part : parts) results.push_back(apply(weights[*part], x));
  return at::cat(results, 1);
}

TurnedHeads heads_of(const Attention& attention, const LayerWeights& weights, const at::Tensor& x,
                     const LayerPass& pass) {
  if (pass.launcher) {
    const auto heads = [&](const LinearShape& part) { return weights[part].weight.size(0) / attention.head_dim; };
    return fused_heads(*pass.launcher, apply_packed(weights, {&attention.q, &attention.k, &attention.v}, x),
                       {heads(attention.q), heads(attention.k), attention.head_dim}, weights[attention.q_norm],
                       weights[attention.k_norm], pass.eps, pass.rotation);
  }
  const auto heads = [&](const LinearShape& projection) {
    return apply(weights[projection], x).view({x.size(0), -1, attention.head_dim});
  };
  const auto turned = [&](const at::Tensor& raw, const at::Tensor& norm) {
    return rotate(norm.defined() ? rms_norm(raw, norm, pass.eps) : raw, pass.rotation);
  };
  // Autograd adds the gradients by x in the opposite of this order.
  const at::Tensor v = heads(attention.v), k = turned(heads(attention.k), weights[attention.k_norm]),
                   q = turned(heads(attention.q), weights[attention.q_norm]);
  return {q, k, v};
}

at::Tensor mix(const Attention& attention, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  const TurnedHeads heads = heads_of(attention, weights, x, pass);
  const at::Tensor mixed = pass.attend(attention, heads.q, heads.k, heads.v);
  return apply_columns(weights[attention.o], mixed.reshape({x.size(0), -1}), pass.flow);
}

at::Tensor mix(const GatedMlp& mlp, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  const at::Tensor gated = pass.launcher ? fused_gate(*pass.launcher, apply_packed(weights, {&mlp.gate, &mlp.up}, x))
                                         : swiglu(apply(weights[mlp.gate], x), apply(weights[mlp.up], x));
  return apply_columns(weights[mlp.down], gated, pass.flow);
}

at::Tensor mix(const Experts& experts, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  return pass.flow.leave(mix_experts(experts, weights, x, {pass.experts, pass.routers.get()}));
}

bool takes(const Attention& attention, const LayerWeights& weights, const at::Tensor& x) {
  std::vector<at::Tensor> norms;
  for (const NormShape* norm : {&attention.q_norm, &attention.k_norm})
    if (norm->width > 0) norms.push_back(weights[*norm]);
  const int64_t most = TurnHeadsBackward<float>::kMaxHeadDim;
  return norms.size() != 1 && attention.head_dim <= most && takes_layer(x, {attention.head_dim / 2}, norms);
}

bool takes(const GatedMlp& mlp, const LayerWeights& weights, const at::Tensor& x) {
  return takes_layer(x, {weights[mlp.gate].weight.size(0)}, {});
}

/// What experts compute takes no part in it.
bool takes(const Experts&, const LayerWeights&, const at::Tensor&) {
  return true;
}

/// Whether the kernels compute all of this layer.
bool takes(const LayerWeights& layer, const at::Tensor& x) {
  return std::ranges::all_of(layer.layer(), [&](const Block& block) {
    return takes_layer(x, {block.norm.width}, {layer[block.norm]}) &&
           std::visit([&](const auto& mixer) { return takes(mixer, layer, x); }, block.mixer);
  });
}

at::Tensor mix(const Mixer& mixer, const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass) {
  return std::visit([&](const auto& kind) { return mix(kind, layer, x, pass); }, mixer);
}

/// Each block's result is added by the norm of the next one.
at::Tensor run_fused_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass) {
  NormedSum stream{.sum = x, .normed = {}};
  at::Tensor branch;
  for (const Block& block : layer.layer()) {
    stream = fused_norm(*pass.launcher, stream.sum, branch, layer[block.norm], pass.eps);
    branch = mix(block.mixer, layer, pass.flow.enter(stream.normed), pass);
  }
  return stream.sum + branch;
}

}  // namespace

at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass) {
  if (pass.launcher) {
    if (takes(layer, x)) return run_fused_layer(layer, x, pass);
    LayerPass plain = pass;
    plain.launcher = nullptr;
    return run_layer(layer, x, plain);
  }
  at::Tensor sum = x;
  for (const Block& block : layer.layer()) {
    const at::Tensor entered = pass.flow.enter(rms_norm(sum, layer[block.norm], pass.eps));
    sum = sum + mix(block.mixer, layer, entered, pass);
  }
  return sum;
}

}  // namespace roll
