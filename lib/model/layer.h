// Describes a model's layers: parts, names, sizes, and sharding over tensor ranks. Everything else follows it:
// parameters and FLOPs (spec.h), shards (parameter_shards.h), memory and caches, weight reading (LayerWeights in
// backbone.h), and every forward: mixers.cpp in training; in sampling decode/cpu_decoder.cpp, decode/device_decoder.cpp
// and, for models that these do not support, decode/tensor_decoder.cpp.
// A layer is a sequence of blocks: x += mixer(norm(x)). To add a kind of mixer (experts, a recurrence): its struct in
// Mixer here, its mix() in mixers.cpp, its memory in model/activation_memory.cpp, and the rows in architectures.cpp
// that use it. It then trains and samples on every device; a decoder that supports the kind adds it to its MixerKinds.
// A deviation from Llama (a window, another activation) is a Feature (features.h): each back-end lists the features
// that it supports, and gets no model with others.
#pragma once

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "model/lora.h"
#include "ops/choose_experts.h"
#include "ops/quantisation.h"

namespace roll {

/// Sharding of a parameter over tensor ranks: dimension `dim` is split between its `count` units (heads, say), each of
/// `width` rows or columns. If ranks outnumber units, they hold copies (parameter_shards.h).
struct Cut {
  int64_t dim = -1;  // -1: every rank holds the whole parameter
  int64_t count = 0, width = 1;
  bool operator==(const Cut&) const = default;
};

/// Number of an expert in its layer. Each expert rank holds a run of equally many.
struct ExpertPlace {
  int64_t number = 0, of = 1;
  int64_t owner(int64_t num_ranks) const { return number / (of / num_ranks); }
};

/// Rows of a product in a fused tensor of the folder, named `of`: it has `groups` groups of `rows` rows (per head, the
/// query's rows, then the gate's), and the product has those from `begin` on in each. Adapters share the A of the whole
/// tensor. Empty: the product has a separate tensor.
struct FusedRows {
  std::string_view of;
  int64_t begin = 0, rows = 0, groups = 1;
  int64_t stacked = 0;  // matrices in the tensor's leading dimension, named without ".weight"; 0: none
};

/// y = x W^T + b. Names are HF's, relative to the layer; they point into an Architecture or to literals.
struct LinearShape {
  std::string_view name;
  int64_t outputs = 0, inputs = 0;
  bool has_bias = false;
  Cut cut = {};
  AdapterShape adapter = {};
  std::optional<Quantisation> quantised = {};
  at::ScalarType quantised_from = at::kFloat;  // QuantisedMatrix::from
  double share = 1;                            // share of the tokens that go through it
  std::optional<ExpertPlace> expert = {};
  FusedRows fused = {};

  std::string_view name_in_folder() const { return fused.of.empty() ? name : fused.of; }
  /// Name of its adapters; each matrix of a stacked tensor has its own.
  std::string_view adapted_name() const { return fused.stacked > 0 ? name : name_in_folder(); }
};

/// An RMSNorm over `width` elements; 0: none.
struct NormShape {
  std::string_view name;
  int64_t width = 0;
  double offset = 0;  // added to its weight, which begins as 1 - offset (Gemma: 1)
  Cut cut = {};       // sharding of a norm over all heads
};

/// Weights of no product or norm. `name` is complete: no ".weight" follows.
struct TensorShape {
  std::string_view name;
  std::vector<int64_t> shape;
  Cut cut = {};
  double initial = 0, deviation = 0;  // new elements: normal with `deviation`; if that is 0, `initial`
  FusedRows fused = {};
  bool is_constant = false;  // never trained by gradients
  bool is_wide = false;      // float32 even in 16-bit models
};

/// FLOPs and cached elements per token.
struct LayerCost {
  double flops = 0;                         // per token of a forward pass
  double square_flops = 0;                  // per squared sequence length of a forward pass
  int64_t cached = 0;                       // elements in the KV cache of a tensor rank
  int64_t states = 0;                       // elements of recurrent states, in each page of the cache
  std::map<int64_t, double> windowed = {};  // square_flops of window attention, by window width

  LayerCost& operator+=(const LayerCost& other);
  /// FLOPs of attention over a sequence of `length` tokens, without its products.
  double pair_flops(double length) const;
  /// Bytes of a page of `tokens` tokens, with `number_bytes` per element.
  int64_t page_bytes(int64_t tokens, int64_t number_bytes) const;
  /// Tokens per page, at least `least`. With recurrent states, enough that keys and values take as many bytes as these.
  int64_t page_tokens(int64_t least, int64_t number_bytes) const;
};

// Each kind of mixer gives its parts in HF's order, its cost beside products, and the rule that `tp` ranks break if
// they cannot share it ("must divide ..."; empty: none).

/// RoPE of an attention's queries and keys.
struct RotaryRule {
  int64_t rope = 0;          // index in ModelSpec::ropes(); -1: no RoPE
  int64_t dim = 0;           // leading elements of a head that rotate
  bool interleaved = false;  // pairs are (2i, 2i + 1)
  double scale = 1;          // factor of the rotated elements
  bool grows = false;        // queries are scaled by their position
};

/// Causal grouped-query attention with RoPE.
struct Attention {
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  LinearShape q, k, v, o;     // v with 0 outputs: values are the keys before their norm
  NormShape q_norm, k_norm;   // over each head, or over all heads
  bool norms_values = false;  // RMSNorm without weight over each head of v
  int64_t shared = -1;        // index of shared keys and values: made here, or read if there is no k; -1: own ones
  LinearShape gate = {};      // multiplies the heads' output by sigmoid(gate(x)) before o; 0 outputs: none
  RotaryRule rotary = {};
  int64_t window = 0;      // tokens that a token sees, itself included; 0: all before it
  double soft_cap = 0;     // c: scores become c tanh(score / c); 0: no cap
  double score_scale = 0;  // 0: 1 / sqrt(head_dim)

  template <class F>
  void for_each_part(const F& f) const {
    f(q);
    if (gate.outputs > 0) f(gate);
    for (const LinearShape* linear : {&k, &v, &o})
      if (linear->outputs > 0) f(*linear);
    for (const NormShape* norm : {&q_norm, &k_norm})
      if (norm->width > 0) f(*norm);
  }
  /// Heads per tensor rank; if ranks outnumber heads, they hold copies.
  int64_t kv_heads_per_rank(int64_t tp) const { return std::max<int64_t>(1, num_kv_heads / tp); }
  double scale() const;  // factor of query-key products
  LayerCost own_cost(int64_t tp) const;
  std::string sharing_rule(int64_t tp) const;
};

enum class Activation { kSilu, kGeluTanh };

/// down(activation(gate(x)) * up(x)).
struct GatedMlp {
  int64_t inner = 0;
  Activation activation = Activation::kSilu;
  LinearShape gate, up, down;

  template <class F>
  void for_each_part(const F& f) const {
    for (const LinearShape* linear : {&gate, &up, &down}) f(*linear);
  }
  LayerCost own_cost(int64_t) const { return {}; }
  std::string sharing_rule(int64_t tp) const;
};

/// Products of all experts: gate and up of each, then down of each; with their names. Equal layers share one object.
struct ExpertParts {
  std::vector<std::vector<std::string>> names;
  std::vector<LinearShape> linears;
};

/// Mixture of gated MLPs: a router chooses a few for each token, and all tokens may use a shared one: sum of p_e
/// mlp_e(x) + sigmoid(shared_gate(x)) shared(x).
struct Experts {
  RoutingRule routing = {};
  int64_t inner = 0;
  Activation activation = Activation::kSilu;
  int64_t number = 0;  // index among the model's mixtures
  LinearShape router = {};
  TensorShape bias = {};           // [experts]: see choose_experts(); no name: none
  TensorShape router_scale = {};   // [hidden]; with a name, the router reads norm(x) * router_scale / sqrt(hidden)
  TensorShape expert_scales = {};  // [experts]: factors of their outputs; no name: 1
  std::shared_ptr<const ExpertParts> parts = {};
  std::optional<GatedMlp> shared = {};
  LinearShape shared_gate = {};  // 0 outputs: none, and sigmoid() is 1

  template <class F>
  void for_each_part(const F& f) const {
    f(router);
    for (const TensorShape* tensor : {&bias, &router_scale, &expert_scales})
      if (!tensor->name.empty()) f(*tensor);
    for (const LinearShape& linear : parts->linears) f(linear);
    if (!shared) return;
    shared->for_each_part(f);
    if (shared_gate.outputs > 0) f(shared_gate);
  }
  LayerCost own_cost(int64_t) const { return {}; }
  std::string sharing_rule(int64_t tp) const;
};

/// A gated MLP for all tokens, and experts beside it, each between norms (Gemma 4): mlp_after(mlp(mlp_norm(x))) +
/// experts_after(experts(experts_norm(x))); the router reads x itself.
struct MlpBesideExperts {
  NormShape mlp_norm, mlp_after, experts_norm, experts_after;
  GatedMlp mlp;
  Experts experts;

  template <class F>
  void for_each_part(const F& f) const {
    mlp.for_each_part(f);
    experts.for_each_part(f);
    for (const NormShape* norm : {&mlp_norm, &mlp_after, &experts_norm, &experts_after}) f(*norm);
  }
  LayerCost own_cost(int64_t) const { return {}; }
  std::string sharing_rule(int64_t tp) const;
};

/// Gated delta net (Yang, Kautz, Hatamizadeh 2024): each head has a state that decays; each token corrects what the
/// state holds under its key (ops/delta_rule.h). Queries, keys and values first pass a short causal convolution; the
/// heads' output is normed and multiplied by silu(z(x)). Value heads share keys as in grouped-query attention.
struct GatedDeltaNet {
  int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  int64_t kernel = 0;                  // width of the convolution, in tokens
  LinearShape q, k, v, z, b, a, o;     // b: strength of the correction; a: decay
  TensorShape q_conv, k_conv, v_conv;  // [rows, 1, kernel]
  TensorShape dt_bias, a_log;          // per value head: states decay by exp(-exp(a_log) softplus(a + dt_bias))
  NormShape norm;                      // over each value head

  template <class F>
  void for_each_part(const F& f) const {
    for (const LinearShape* linear : {&q, &k, &v, &z, &b, &a, &o}) f(*linear);
    for (const TensorShape* tensor : {&q_conv, &k_conv, &v_conv, &dt_bias, &a_log}) f(*tensor);
    f(norm);
  }
  /// Channels of the convolution.
  int64_t convolved() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
  LayerCost own_cost(int64_t tp) const;
  std::string sharing_rule(int64_t tp) const;
};

/// Adds a per-layer input of each token (Gemma 3n's per-layer embeddings): projection(activation(gate(x)) * input).
/// Each tensor rank holds all weights and computes its own tokens.
struct LayerInput {
  int64_t layer = 0;
  Activation activation = Activation::kSilu;
  LinearShape gate, projection;

  template <class F>
  void for_each_part(const F& f) const {
    f(gate);
    f(projection);
  }
  LayerCost own_cost(int64_t) const { return {}; }
  std::string sharing_rule(int64_t) const { return ""; }
};

using Mixer = std::variant<Attention, GatedMlp, Experts, GatedDeltaNet, LayerInput, MlpBesideExperts>;

/// x = output_scale * (x + scale * after(mixer(norm(x)))).
struct Block {
  NormShape norm;
  Mixer mixer;
  NormShape after = {};
  double scale = 1;
  TensorShape output_scale = {};  // [1]; no name: 1

  int64_t hidden() const { return std::max(norm.width, after.width); }
};

using Layer = std::vector<Block>;

/// Calls f(part) for each LinearShape, TensorShape and NormShape in HF's order: first all mixers' parts, then the
/// blocks' norms and scales.
template <class F>
void for_each_part(const Layer& layer, const F& f) {
  for (const Block& block : layer) std::visit([&](const auto& mixer) { mixer.for_each_part(f); }, block.mixer);
  for (const Block& block : layer)
    for (const NormShape* norm : {&block.norm, &block.after})
      if (norm->width > 0) f(*norm);
  for (const Block& block : layer)
    if (!block.output_scale.name.empty()) f(block.output_scale);
}

/// Returns the cost per token; cached elements are those of one of `tp` tensor ranks.
LayerCost layer_cost(const Layer& layer, int64_t tp = 1);
LayerCost layer_cost(const std::vector<Layer>& layers, int64_t tp = 1);

/// The kinds of mixers that a back-end supports.
template <class... Kinds>
struct MixerKinds {
  static bool include_all(const std::vector<Layer>& layers) {
    for (const Layer& layer : layers)
      for (const Block& block : layer)
        if (!(std::holds_alternative<Kinds>(block.mixer) || ...)) return false;
    return true;
  }
  /// Calls f with the mixer as its own type. Bug: none of Kinds.
  template <class F>
  static void visit(const Mixer& mixer, const F& f) {
    const bool is_known =
        ((std::holds_alternative<Kinds>(mixer) ? (f(*std::get_if<Kinds>(&mixer)), true) : false) || ...);
    ROLL_CHECK(is_known, "a back-end is only given models whose mixers it computes");
  }
};

}  // namespace roll
