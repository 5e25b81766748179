#include "model/mixers.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "dist/parallel_ops.h"
#include "model/activate.h"
#include "model/experts.h"
#include "model/features.h"
#include "ops/accumulating_linear.h"
#include "ops/fused_layer.h"
#include "ops/products.h"

namespace roll {

at::Tensor LayerPass::local_dropout_keys(const at::Tensor& x) const {
  if (!dropout_keys.defined() || dropout_keys.size(0) == x.size(0)) return dropout_keys;
  return dropout_keys.narrow(0, tp->rank() * x.size(0), x.size(0));
}

namespace {

at::Tensor with_bias(const Linear& linear, const at::Tensor& sum) {
  return linear.bias.defined() ? sum + linear.bias : sum;
}

at::Tensor apply(const Linear& linear, const at::Tensor& x, const LayerPass& pass) {
  return linear.is_plain() ? accumulating_linear(x, linear.weight, linear.bias)
                           : with_bias(linear, product(linear, x, pass.dropout_keys));
}

/// Multiplies by a weight whose input dimension is sharded; the bias is added once, to the sum.
at::Tensor apply_columns(const Linear& linear, const at::Tensor& x, const LayerPass& pass) {
  return with_bias(linear, pass.flow.leave(product(linear, x, pass.dropout_keys)));
}

/// Returns several products with x, concatenated.
at::Tensor apply_packed(const LayerWeights& weights, const std::vector<const LinearShape*>& parts, const at::Tensor& x,
                        const LayerPass& pass) {
  std::vector<at::Tensor> matrices, biases;
  for (const LinearShape* part : parts) {
    const Linear& linear = weights[*part];
    matrices.push_back(linear.weight);
    if (linear.bias.defined()) biases.push_back(linear.bias);
  }
  if (std::ranges::all_of(parts, [&](const LinearShape* part) { return weights[*part].is_plain(); }))
    return packed_linear(x, matrices, biases);
  std::vector<at::Tensor> results;
  for (const LinearShape* part : parts) results.push_back(apply(weights[*part], x, pass));
  return at::cat(results, 1);
}

// Features that layer kernels need not support: the attention call computes them.
constexpr Features kOutsideOfKernels = {Feature::kWindow, Feature::kSoftCap, Feature::kScoreScale, Feature::kSinks};

at::Tensor normed(const at::Tensor& x, const NormShape& norm, const LayerWeights& weights, const LayerPass& pass) {
  return norm.width > 0 ? rms_norm(x, weights[norm], norm.eps > 0 ? norm.eps : pass.eps, norm.offset) : x;
}

/// RMSNorm over elements that tensor ranks share; x: [T, this rank's elements].
at::Tensor shared_norm(const at::Tensor& x, const NormShape& norm, const LayerWeights& weights, const LayerPass& pass) {
  if (!pass.tp || pass.tp->size() == 1) return normed(x, norm, weights, pass);
  const auto copies = static_cast<double>(std::max<int64_t>(1, pass.tp->size() / norm.cut.count));
  const at::Tensor wide = x.to(wide_dtype(x));
  const at::Tensor squares =
      sum_over_ranks(wide.square().sum(-1, true) / copies, *pass.tp, "sum of squares of heads") / norm.width;
  const at::Tensor weight = weights[norm].to(wide.scalar_type());
  return (wide * at::rsqrt(squares + pass.eps) * (norm.offset != 0 ? weight + norm.offset : weight))
      .to(x.scalar_type());
}

at::Tensor apply_rope(const at::Tensor& x, const RotaryRule& rotary, const LayerPass& pass, bool is_query) {
  if (rotary.rope < 0) return x;
  const HeadRotation& head_rotation = pass.head_rotations[static_cast<size_t>(rotary.rope)];
  const at::Tensor rotated = rotate(x, head_rotation.rotation);
  return is_query && head_rotation.query_scale.defined() ? rotated * head_rotation.query_scale.to(x.scalar_type())
                                                         : rotated;
}

RotatedHeads make_heads(const Attention& attention, const LayerWeights& weights, const at::Tensor& x,
                        const LayerPass& pass, Carried& carried) {
  if (pass.launcher) {
    const auto heads = [&](const LinearShape& part) { return weights[part].weight.size(0) / attention.head_dim; };
    return fused_heads(*pass.launcher, apply_packed(weights, {&attention.q, &attention.k, &attention.v}, x, pass),
                       {heads(attention.q), heads(attention.k), attention.head_dim}, weights[attention.q_norm],
                       weights[attention.k_norm], pass.eps, pass.head_rotations[0].rotation);
  }
  const auto heads = [&](const at::Tensor& all) { return all.view({x.size(0), -1, attention.head_dim}); };
  const auto normed_heads = [&](const at::Tensor& all, const NormShape& norm) {
    if (norm.width > attention.head_dim) return heads(shared_norm(all, norm, weights, pass));
    return normed(heads(all), norm, weights, pass);
  };
  const auto normed_and_rotated = [&](const at::Tensor& all, const NormShape& norm, bool is_query) {
    if (!attention.norms_after_rope) return apply_rope(normed_heads(all, norm), attention.rotary, pass, is_query);
    return normed(apply_rope(heads(all), attention.rotary, pass, is_query), norm, weights, pass);
  };
  const auto queries = [&] { return normed_and_rotated(apply(weights[attention.q], x, pass), attention.q_norm, true); };
  if (attention.k.outputs == 0) {
    const KeysAndValues& read = carried.heads[static_cast<size_t>(attention.shared)];
    return {queries(), read.keys, read.values};
  }
  // Autograd adds the gradients of x in the reverse order.
  const at::Tensor values = attention.v.outputs > 0 ? apply(weights[attention.v], x, pass) : at::Tensor();
  const at::Tensor keys = apply(weights[attention.k], x, pass);
  const at::Tensor k = normed_and_rotated(keys, attention.k_norm, false);
  const at::Tensor q = queries();
  at::Tensor v = heads(values.defined() ? values : keys);
  if (attention.norms_values) v = rms_norm(v, at::ones({attention.head_dim}, v.options()), pass.eps);
  if (attention.shared >= 0) carried.heads[static_cast<size_t>(attention.shared)] = {k, v};
  return {q, k, v};
}

at::Tensor mix(const Attention& attention, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass,
               Carried& carried) {
  const RotatedHeads heads = make_heads(attention, weights, x, pass, carried);
  const at::Tensor sinks = attention.sinks.name.empty() ? at::Tensor() : weights[attention.sinks];
  at::Tensor mixed = pass.attend(attention, heads.q, heads.k, heads.v, sinks).reshape({x.size(0), -1});
  if (attention.gate.outputs > 0) mixed = mixed * at::sigmoid(apply(weights[attention.gate], x, pass));
  return apply_columns(weights[attention.o], mixed, pass);
}

/// Returns x [T, H, D] with zeros behind each head's elements, up to head size `dim`.
at::Tensor padded(const at::Tensor& x, int64_t dim) {
  return x.size(2) == dim ? x : at::constant_pad_nd(x, {0, dim - x.size(2)});
}

at::Tensor mix(const LatentAttention& attention, const LayerWeights& weights, const at::Tensor& x,
               const LayerPass& pass) {
  const int64_t key = attention.key_dim, rotated = attention.rotated_dim, latent = attention.latent_dim;
  const auto rows = [&](const at::Tensor& all, int64_t size) { return all.view({x.size(0), -1, size}); };
  const auto rope = [&](const at::Tensor& all, bool is_query) {
    return apply_rope(all.narrow(2, all.size(2) - rotated, rotated), attention.rotary, pass, is_query);
  };
  const at::Tensor query_input =
      attention.q_down.outputs > 0 ? normed(apply(weights[attention.q_down], x, pass), attention.q_norm, weights, pass)
                                   : x;
  const at::Tensor q = rows(apply(weights[attention.q], query_input, pass), key + rotated);
  const at::Tensor q_plain = q.narrow(2, 0, key), q_rotated = rope(q, true);
  const at::Tensor down = apply(weights[attention.kv_down], x, pass);
  const at::Tensor k_rotated = rope(rows(down, latent + rotated), false);
  const at::Tensor latents = normed(down.narrow(1, 0, latent), attention.latent_norm, weights, pass);
  at::Tensor mixed;  // [T, H, value_dim]
  if (pass.is_cached) {
    const at::Tensor up = merged_weight(weights[attention.kv_up]).view({q.size(1), key + attention.value_dim, latent});
    const at::Tensor q_latent = at::einsum("thk,hkl->thl", {q_plain, up.narrow(1, 0, key)});
    const at::Tensor cached = at::cat({latents.unsqueeze(1), k_rotated}, 2);
    const Attention shared = attention.over_latents();
    const at::Tensor read = pass.attend(shared, at::cat({q_latent, q_rotated}, 2), cached, cached, {});
    mixed = at::einsum("thl,hvl->thv", {read.narrow(2, 0, latent), up.narrow(1, key, attention.value_dim)});
  } else {
    const Attention heads = attention.over_heads();
    const at::Tensor up = rows(apply(weights[attention.kv_up], latents, pass), key + attention.value_dim);
    const at::Tensor k = at::cat({up.narrow(2, 0, key), k_rotated.expand({-1, up.size(1), -1})}, 2);
    const at::Tensor v = padded(up.narrow(2, key, attention.value_dim), heads.head_dim);
    const at::Tensor q_all = padded(at::cat({q_plain, q_rotated}, 2), heads.head_dim);
    mixed = pass.attend(heads, q_all, padded(k, heads.head_dim), v, {}).narrow(2, 0, attention.value_dim);
  }
  return apply_columns(weights[attention.o], mixed.reshape({x.size(0), -1}), pass);
}

at::Tensor mix(const LayerInput& input, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass,
               const Carried& carried) {
  const at::Tensor token_keys = pass.local_dropout_keys(x);
  const at::Tensor gate = product(weights[input.gate], x, token_keys);
  const at::Tensor own_input = carried.inputs.select(1, input.layer - carried.first);
  return product(weights[input.projection], activate(input.activation, gate, own_input), token_keys);
}

at::Tensor mix(const GatedDeltaNet& net, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  const at::ScalarType wide = wide_dtype(x);
  const auto project = [&](const LinearShape& part) { return apply(weights[part], x, pass); };
  const at::Tensor taps = at::cat({weights[net.q_conv], weights[net.k_conv], weights[net.v_conv]}).squeeze(1);
  const at::Tensor step = at::softplus(project(net.a).to(wide) + weights[net.dt_bias].to(wide));
  const DeltaRows rows = {.mixed = at::cat({project(net.q), project(net.k), project(net.v)}, 1),
                          .taps = taps,
                          .decay = -weights[net.a_log].to(wide).exp() * step,
                          .rate = at::sigmoid(project(net.b).to(wide))};
  const int64_t value_heads = rows.decay.size(1);  // on this rank
  const at::Tensor read = pass.recur({.key_heads = net.key_heads * value_heads / net.value_heads,
                                      .value_heads = value_heads,
                                      .key_dim = net.key_dim,
                                      .value_dim = net.value_dim},
                                     rows);
  const at::Tensor normed = rms_norm(read.to(x.scalar_type()), weights[net.norm], pass.eps);
  return apply_columns(weights[net.o], normed.reshape({x.size(0), -1}) * at::silu(project(net.z)), pass);
}

at::Tensor mix(const GatedMlp& mlp, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  const at::Tensor gated =
      pass.launcher ? fused_gate(*pass.launcher, apply_packed(weights, {&mlp.gate, &mlp.up}, x, pass))
                    : activate(mlp.activation, apply(weights[mlp.gate], x, pass), apply(weights[mlp.up], x, pass));
  return apply_columns(weights[mlp.down], gated, pass);
}

at::Tensor mix(const Experts& experts, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  return pass.flow.leave(mix_experts(experts, weights, x,
                                     {.ranks = pass.experts,
                                      .routers = pass.routers.get(),
                                      .launcher = pass.launcher,
                                      .routed = pass.routed,
                                      .adds_bias = !pass.tp || pass.tp->rank() == 0}));
}

at::Tensor mix(const MlpBesideExperts& both, const LayerWeights& weights, const at::Tensor& x, const LayerPass& pass) {
  const at::Tensor mlp_result = mix(both.mlp, weights, normed(x, both.mlp_norm, weights, pass), pass);
  const ExpertPass routing = {.ranks = pass.experts,
                              .routers = pass.routers.get(),
                              .launcher = pass.launcher,
                              .routed = pass.routed,
                              .router_input = x,
                              .eps = pass.eps};
  const at::Tensor entered = normed(x, both.experts_norm, weights, pass);
  const at::Tensor experts_result = pass.flow.leave(mix_experts(both.experts, weights, entered, routing));
  return normed(mlp_result, both.mlp_after, weights, pass) + normed(experts_result, both.experts_after, weights, pass);
}

bool takes(const Attention& attention, const LayerWeights& weights, const at::Tensor& x) {
  std::vector<at::Tensor> norms;
  for (const NormShape* norm : {&attention.q_norm, &attention.k_norm})
    if (norm->width > 0) norms.push_back(weights[*norm]);
  const int64_t most = RotateHeadsBackward<float>::kMaxHeadDim;
  return norms.size() != 1 && attention.head_dim <= most && takes_layer(x, {attention.head_dim / 2}, norms);
}

bool takes(const GatedMlp& mlp, const LayerWeights& weights, const at::Tensor& x) {
  return takes_layer(x, {weights[mlp.gate].weight.size(0)}, {});
}

/// Other kinds have no kernels.
template <class Kind>
bool takes(const Kind&, const LayerWeights&, const at::Tensor&) {
  return false;
}

/// Experts check for kernels themselves (run_experts() in experts.cpp).
bool takes(const Experts&, const LayerWeights&, const at::Tensor&) {
  return true;
}

/// True if the kernels support all of this layer.
bool takes(const LayerWeights& layer, const at::Tensor& x) {
  return has_layer_kernels(layer.layer()) && std::ranges::all_of(layer.layer(), [&](const Block& block) {
           return takes_layer(x, {block.norm.width}, {layer[block.norm]}) &&
                  std::visit([&](const auto& mixer) { return takes(mixer, layer, x); }, block.mixer);
         });
}

at::Tensor mix_any(const Mixer& mixer, const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass,
                   Carried& carried) {
  const auto mix_one = [&](const auto& kind) {
    if constexpr (requires { mix(kind, layer, x, pass, carried); })
      return mix(kind, layer, x, pass, carried);
    else
      return mix(kind, layer, x, pass);
  };
  return std::visit(mix_one, mixer);
}

/// The fused norm of each block also adds the previous block's result.
at::Tensor run_fused_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass, Carried& carried) {
  NormedSum stream{.sum = x, .normed = {}};
  at::Tensor branch;
  for (const Block& block : layer.layer()) {
    stream = fused_norm(*pass.launcher, stream.sum, branch, layer[block.norm], pass.eps);
    branch = mix_any(block.mixer, layer, pass.flow.enter(stream.normed), pass, carried);
  }
  return stream.sum + branch;
}

}  // namespace

bool has_layer_kernels(const Layer& layer) {
  return layer_features(layer).are_within(kOutsideOfKernels);
}

std::vector<at::Tensor*> Carried::tensor_pointers() {
  std::vector<at::Tensor*> found;
  if (inputs.defined()) found.push_back(&inputs);
  for (auto& [keys, values] : heads)
    if (keys.defined()) found.insert(found.end(), {&keys, &values});
  return found;
}

at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass) {
  Carried no_carried;
  return run_layer(layer, x, pass, no_carried);
}

at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass, Carried& carried) {
  if (pass.launcher) {
    if (takes(layer, x)) return run_fused_layer(layer, x, pass, carried);
    LayerPass plain = pass;
    plain.launcher = nullptr;
    return run_layer(layer, x, plain, carried);
  }
  at::Tensor sum = x;
  for (const Block& block : layer.layer()) {
    const at::Tensor branch_input = normed(sum, block.norm, layer, pass);
    const at::Tensor entered =
        std::holds_alternative<LayerInput>(block.mixer) ? branch_input : pass.flow.enter(branch_input);
    const at::Tensor branch = normed(mix_any(block.mixer, layer, entered, pass, carried), block.after, layer, pass);
    sum = block.scale == 1 ? sum + branch : at::add(sum, branch, block.scale);
    if (!block.output_scale.name.empty()) sum = sum * layer[block.output_scale];
  }
  return sum;
}

}  // namespace roll
