// An architecture whose layers are not dense_layers(): of other blocks, in another order, and unlike each other.
#pragma once

#include "model/init_spec.h"
#include "model/telling_model.h"

namespace roll::test {

/// Beside the first attention of a layer; names are the layer's own.
inline Block second_attention(const Block& first) {
  Block second = first;
  second.norm.name = "again.norm";
  auto& attention = std::get<Attention>(second.mixer);
  attention.q.name = "again.q";
  attention.k.name = "again.k";
  attention.v.name = "again.v";
  attention.o.name = "again.o";
  attention.q_norm.name = "again.q_norm";
  attention.k_norm.name = "again.k_norm";
  return second;
}

/// Layer 0: MLP, attention. Layer 1: attention, a wider MLP, attention.
inline std::vector<Layer> odd_layers(const ModelSpec& spec) {
  ModelSpec wider = spec;
  wider.intermediate_size = spec.intermediate_size + 32;
  const Block attention = dense_layers(spec)[0][0], mlp = dense_layers(spec)[0][1];
  return {{mlp, attention}, {attention, dense_layers(wider)[0][1], second_attention(attention)}};
}

/// Only MLPs: nothing is cached.
inline std::vector<Layer> layers_without_attention(const ModelSpec& spec) {
  const Block mlp = dense_layers(spec)[0][1];
  return {{mlp}, {mlp}};
}

/// The second attention has half the heads of the first.
inline std::vector<Layer> uneven_layers(const ModelSpec& spec) {
  ModelSpec narrower = spec;
  narrower.num_heads /= 2;
  narrower.num_kv_heads /= 2;
  return {{dense_layers(spec)[0][0], second_attention(dense_layers(narrower)[0][0])}};
}

inline const Architectures& odd_architectures() {
  static const Architectures rows = {
      {.name = "odd", .qk_norm = true, .qkv_bias = Bias::kAlways, .mlp_bias = Bias::kByConfig, .layers = odd_layers},
      {.name = "uneven", .mlp_bias = Bias::kByConfig, .layers = uneven_layers},
      {.name = "mlps", .mlp_bias = Bias::kByConfig, .layers = layers_without_attention}};
  return rows;
}

/// Sizes that fill no panel, strip or vector; those with heads of 8 a device's kernels take.
inline Transformer odd_layered_model(const char* arch, int64_t head_dim = 22) {
  InitSizes sizes;
  sizes.arch = arch;
  sizes.vocab = 71;
  sizes.hidden = 40;
  sizes.layers = 2;
  sizes.heads = 6;
  sizes.kv_heads = 2;
  sizes.intermediate = head_dim == 8 ? 88 : 90;
  sizes.head_dim = head_dim;
  return telling_model(sizes, odd_architectures());
}

}  // namespace roll::test
