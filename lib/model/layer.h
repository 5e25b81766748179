// Describes a model's layers, without weights: names and sizes of their parts, and sharding over tensor ranks. All code
// that needs to know the layers reads this description: parameters and FLOPs (spec.h), shards (parameter_shards.h),
// memory and caches, weight reading (LayerWeights in backbone.h), and every forward. In training, mixers.cpp computes
// the layers. In sampling, decode/cpu_decoder.cpp and decode/device_decoder.cpp do, and decode/tensor_decoder.cpp for
// models that these do not support.
// A layer is a sequence of blocks, each x += mixer(norm(x)). A part is a linear layer, norm or other tensor. To add a
// kind of mixer (a recurrence, say), write its struct in Mixer here, its mix() in mixers.cpp, its memory in
// activation_memory.cpp, and rows in architectures.cpp that use it. It then trains and samples on every device; each
// faster decoder lists the kinds that it supports (MixerKinds). A deviation from Llama within a kind (a window, another
// activation) is a Feature (features.h).
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

/// Sharding of a parameter over tensor ranks: dimension `dim` consists of `count` units (heads, say) of `width` indices
/// each; a rank gets a range of whole units. If there are more ranks than units, neighbouring ranks hold copies of one.
struct Cut {
  int64_t dim = -1;              // 0: rows, 1: columns; -1: every rank holds the whole parameter
  int64_t count = 0, width = 1;  // units, and indices per unit
  bool operator==(const Cut&) const = default;
};

/// Index of an expert among the experts of its layer. Each expert rank holds equally many consecutive ones.
struct ExpertPlace {
  int64_t number = 0, num_experts = 1;
  /// Returns the rank that holds it; num_ranks must divide num_experts.
  int64_t owner(int64_t num_ranks) const { return number / (num_experts / num_ranks); }
};

/// Rows of a part in a fused tensor, which the model folder stores in place of several parts (q, k and v, say). The
/// tensor has `groups` groups of `rows` rows each; the part has every `step`-th row in each group, from row `begin` of
/// the group on. (With one group per head, a group holds the head's query rows, then its gate rows.) The parts of a
/// tensor share the matrix A of their adapters, except if stacked > 0.
struct FusedRows {
  std::string_view tensor_name;  // empty: the part has a separate tensor
  int64_t begin = 0, rows = 0, groups = 1;
  // Above 0: the tensor is [stacked, rows / stacked, columns], and its name has no ".weight"; 0: a matrix.
  int64_t stacked = 0;
  bool may_be_transposed = false;  // with stacked: a folder may have [stacked, columns, rows]
  bool is_transposed = false;      // with stacked: all folders have [stacked, columns, rows]
  int64_t step = 1;                // 2: rows of two parts alternate
};

/// Linear layer y = x W^T + b. Names are HF's, relative to the layer; they point into an Architecture or to literals.
struct LinearShape {
  std::string_view name;            // without ".weight"
  int64_t outputs = 0, inputs = 0;  // W is [outputs, inputs], on all ranks together; 0 outputs: not there
  bool has_bias = false;
  Cut cut = {};  // W's sharding
  AdapterShape adapter = {};
  std::optional<Quantisation> quantised = {};  // format in which W is held; null: not quantised
  at::ScalarType quantised_from = at::kFloat;  // dtype of W before quantisation (QuantisedMatrix::from)
  double share = 1;                            // expected share of the tokens that go through it; below 1 for experts
  std::optional<ExpertPlace> expert = {};
  FusedRows fused = {};
  bool weighs_experts = false;  // a router, or the gate of a shared expert

  std::string_view name_in_folder() const { return fused.tensor_name.empty() ? name : fused.tensor_name; }
  /// Name that its adapters' tensors begin with: the fused tensor's, or in a stacked tensor the part's.
  std::string_view adapted_name() const { return fused.stacked > 0 ? name : name_in_folder(); }
};

/// An RMSNorm over `width` elements; 0: none.
struct NormShape {
  std::string_view name;
  int64_t width = 0;
  double offset = 0;  // added to the weight, which is 1 - offset in a new model (Gemma: 1)
  Cut cut = {};       // sharding of a norm over all heads
  double eps = 0;     // added to the mean square; 0: the model's rms_norm_eps
};

/// A tensor that is neither a linear layer's nor a norm's. `name` is complete: no ".weight" follows.
struct TensorShape {
  std::string_view name;
  std::vector<int64_t> shape;
  Cut cut = {};
  // Elements of a new model: normal with mean 0 and standard deviation `deviation`; if that is 0, all are `initial`.
  double initial = 0, deviation = 0;
  FusedRows fused = {};
  bool is_constant = false;  // never trained by gradients
  bool is_wide = false;      // float32 even in 16-bit models
};

/// Cost of one or more layers: FLOPs of a forward on all ranks together, and cache elements on one tensor rank. A
/// sequence of n tokens takes flops * n + pair_flops(n) FLOPs.
struct LayerCost {
  double flops = 0;                         // per token, apart from attention scores
  double square_flops = 0;                  // per squared sequence length: attention without a window
  int64_t cached = 0;                       // elements per token in the KV cache
  int64_t states = 0;                       // elements of recurrent states per page of the cache
  std::map<int64_t, double> windowed = {};  // like square_flops, for attention with a window: by window width

  LayerCost& operator+=(const LayerCost& other);
  /// Returns the FLOPs of attention over a sequence of `length` tokens, without its linear layers.
  double pair_flops(double length) const;
  /// Returns the bytes of a page of `tokens` tokens. Keys and values have `number_bytes` bytes per element, states the
  /// same but at least 4.
  int64_t page_bytes(int64_t tokens, int64_t number_bytes) const;
  /// Returns a number of tokens per page: `least` if there are no recurrent states. Otherwise it is a multiple of
  /// `least`, up to 1024, at which keys and values take about as many bytes as the states. `number_bytes`: bytes per
  /// element.
  int64_t page_tokens(int64_t least, int64_t number_bytes) const;
};

// Each kind of mixer has these functions. for_each_part(f) calls f(part) for each LinearShape, NormShape and
// TensorShape in HF's order. own_cost(tp) returns the cost apart from linear layers. sharing_rule(tp) returns "" if
// `tp` tensor ranks can share the mixer, else the rule for the user's message ("must divide ...").

/// RoPE of an attention's queries and keys.
struct RotaryRule {
  int64_t rope = 0;          // index in ModelSpec::ropes(); -1: no RoPE
  int64_t dim = 0;           // number of a head's elements that rotate, from element 0 on
  bool interleaved = false;  // rotated pairs are elements (2i, 2i + 1); false: (i, i + dim / 2)
  double scale = 1;          // factor of cosines and sines (Rope::attention_factor)
  bool grows = false;        // queries are scaled by a factor that grows with position (Rope::query_growth)
};

/// Causal grouped-query attention with RoPE.
struct Attention {
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  LinearShape q, k, v, o;         // v with 0 outputs: the values are the keys before their norm and RoPE
  NormShape q_norm, k_norm;       // norms of queries and keys; width head_dim: over each head; larger: over all heads
  bool norms_after_rope = false;  // q_norm and k_norm follow RoPE
  bool norms_values = false;      // RMSNorm without weight over each head of v
  // Index (0 or 1) in the model's keys and values that several layers share. This layer computes them, or reads them if
  // k has 0 outputs. -1: the layer has keys and values that no other layer reads.
  int64_t shared = -1;
  TensorShape sinks = {};  // [num_heads]: score of a key per head that all queries see, with value 0; no name: none
  LinearShape gate = {};   // the heads' output is multiplied by sigmoid(gate(x)) before o; 0 outputs: no gate
  RotaryRule rotary = {};
  int64_t window = 0;   // number of last tokens that a token sees, itself included; 0: it sees all tokens up to itself
  double soft_cap = 0;  // c: scores become c tanh(score / c); 0: no cap
  double score_scale = 0;  // factor of query-key products; 0: 1 / sqrt(head_dim)

  template <class F>
  void for_each_part(const F& f) const {
    f(q);
    if (gate.outputs > 0) f(gate);
    for (const LinearShape* linear : {&k, &v, &o})
      if (linear->outputs > 0) f(*linear);
    for (const NormShape* norm : {&q_norm, &k_norm})
      if (norm->width > 0) f(*norm);
    if (!sinks.name.empty()) f(sinks);
  }
  /// Returns the key/value heads per tensor rank; if there are more ranks than heads, each rank has a copy of one.
  int64_t kv_heads_per_rank(int64_t tp) const { return std::max<int64_t>(1, num_kv_heads / tp); }
  double scale() const;  // score_scale, or its default
  LayerCost own_cost(int64_t tp) const;
  std::string sharing_rule(int64_t tp) const;
};

/// Multi-head latent attention (model/latent_attention.h). All heads' keys and values are made from one short vector
/// per token, the latent l = latent_norm(the first latent_dim outputs of kv_down(x)). Each head has key_dim rows of
/// kv_up and value_dim further ones. Its key is the former times l, then rotated_dim elements behind RoPE, which all
/// heads share: the last outputs of kv_down(x). Its value is the latter times l. Queries are as long as keys.
struct LatentAttention {
  int64_t num_heads = 0, latent_dim = 0, key_dim = 0, rotated_dim = 0, value_dim = 0;
  LinearShape q_down, q;  // queries are q(q_norm(q_down(x))); if q_down has 0 outputs, q(x)
  LinearShape kv_down, kv_up, o;
  NormShape q_norm, latent_norm;
  RotaryRule rotary = {};
  double score_scale = 1;  // factor of query-key products

  template <class F>
  void for_each_part(const F& f) const {
    if (q_down.outputs > 0) {
      f(q_down);
      f(q_norm);
    }
    f(q);
    f(kv_down);
    f(latent_norm);
    f(kv_up);
    f(o);
  }
  /// Elements of a token's latent and rotated key, which a sampler caches.
  int64_t cached_dim() const { return latent_dim + rotated_dim; }
  /// Describes the same attention as training computes it: each head has its own keys and values, both padded with
  /// zeros to one size.
  Attention over_heads() const;
  /// Describes the same attention as sampling computes it: the heads share one key, latent and rotated elements, whose
  /// latent is also their value. A head's query is multiplied by its rows of kv_up beforehand, its result afterwards.
  Attention over_latents() const;
  LayerCost own_cost(int64_t tp) const;
  std::string sharing_rule(int64_t tp) const;
};

/// Activation of an MLP's gate, which is multiplied by up. kClampedSwiglu (gpt-oss) also changes up: clamped_swiglu()
/// in ops/layer_ops.h.
enum class Activation { kSilu, kGeluTanh, kClampedSwiglu };

/// down(activation(gate(x)) * up(x)).
struct GatedMlp {
  int64_t inner = 0;  // outputs of gate and up
  Activation activation = Activation::kSilu;
  LinearShape gate, up, down;

  template <class F>
  void for_each_part(const F& f) const {
    for (const LinearShape* linear : {&gate, &up, &down}) f(*linear);
  }
  LayerCost own_cost(int64_t) const { return {}; }
  std::string sharing_rule(int64_t tp) const;
};

/// Linear layers of all experts of a layer. Layers with equal experts share one object.
struct ExpertParts {
  std::vector<std::vector<std::string>> names;  // storage of the linears' names
  std::vector<LinearShape> linears;             // gate and up of expert 0, of expert 1, ...; then down of each expert
};

/// Mixture of gated MLPs ("experts"): sum of p_e expert_e(x) over the few experts e that the router chooses for a
/// token. If `shared` is set, adds sigmoid(shared_gate(x)) shared(x), an expert that all tokens use.
struct Experts {
  RoutingRule routing = {};
  int64_t inner = 0;  // outputs of gate and up of each expert
  Activation activation = Activation::kSilu;
  int64_t number = 0;  // index of this mixture among the model's mixtures, which is also its router's number
  LinearShape router = {};
  TensorShape bias = {};           // [experts]: added to the probabilities for the choice alone; no name: not there
  TensorShape router_scale = {};   // [hidden]: the router reads norm(x) * router_scale / sqrt(hidden); no name: x
  TensorShape expert_scales = {};  // [experts]: factors of the experts' weights p_e; no name: all 1
  std::shared_ptr<const ExpertParts> parts = {};
  std::optional<GatedMlp> shared = {};
  LinearShape shared_gate = {};  // 0 outputs: not there, and the factor of shared(x) is 1

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

/// A gated MLP for all tokens, and experts beside it, each between two norms (Gemma 4): mlp_after(mlp(mlp_norm(x))) +
/// experts_after(experts(experts_norm(x))). The router's input is x instead of experts_norm(x).
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
/// state holds under its key (ops/delta_rule.h). Queries, keys and values first pass a short causal convolution and
/// SiLU; each head's output is normed and multiplied by silu(z(x)). Several value heads share a key head.
struct GatedDeltaNet {
  int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  int64_t kernel = 0;               // width of the convolution, in tokens
  LinearShape q, k, v, z, b, a, o;  // b and a: one output per value head, for the correction's strength and the decay
  TensorShape q_conv, k_conv, v_conv;  // [outputs of q, k or v; 1; kernel]
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

/// projection(activation(gate(x)) * input), where each token has an input per layer (Gemma 3n's per-layer embeddings),
/// made from its id and embedding (Carried::inputs). Each tensor rank holds all weights and computes its own tokens.
struct LayerInput {
  int64_t layer = 0;  // number of the layer
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

using Mixer = std::variant<Attention, GatedMlp, Experts, GatedDeltaNet, LayerInput, MlpBesideExperts, LatentAttention>;

/// Computes x = output_scale * (x + scale * after(mixer(norm(x)))).
struct Block {
  NormShape norm;  // width 0: not there; the same holds for `after`
  Mixer mixer;
  NormShape after = {};
  double scale = 1;
  TensorShape output_scale = {};  // [1]; no name: not there, which means 1

  /// Elements of x per token.
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

/// Returns the cost of the layers, with adapters; cache elements are those of one of `tp` tensor ranks.
LayerCost layer_cost(const Layer& layer, int64_t tp = 1);
LayerCost layer_cost(const std::vector<Layer>& layers, int64_t tp = 1);

/// The kinds of mixers that a decoder supports: Kinds are types in Mixer.
template <class... Kinds>
struct MixerKinds {
  /// True if all mixers of the layers are of these kinds.
  static bool include_all(const std::vector<Layer>& layers) {
    for (const Layer& layer : layers)
      for (const Block& block : layer)
        if (!(std::holds_alternative<Kinds>(block.mixer) || ...)) return false;
    return true;
  }
  /// Calls f(mixer) with the mixer's concrete type. Throws Bug if it is not one of Kinds.
  template <class F>
  static void visit(const Mixer& mixer, const F& f) {
    const bool is_known =
        ((std::holds_alternative<Kinds>(mixer) ? (f(*std::get_if<Kinds>(&mixer)), true) : false) || ...);
    ROLL_CHECK(is_known, "a back-end is only given models whose mixers it computes");
  }
};

}  // namespace roll
