// One description of a layer: what stands in it, under which names, how large, and how tensor ranks share it. All else
// follows it: parameters and FLOPs (spec.h), the ranks' parts (parameter_shards.h), memory and caches, reading of
// weights (LayerWeights in backbone.h), and every forward: mixers.cpp in training, and in sampling
// decode/cpu_decoder.cpp, decode/device_decoder.cpp and, for all that these do not know, decode/tensor_decoder.cpp. A
// layer is blocks, one after the other: x += mixer(norm(x)). To add a kind of mixer (experts, a recurrence): its struct
// in Mixer here, its mix() in mixers.cpp, what it keeps in model/activation_memory.cpp, and the row whose layers have
// it in architectures.cpp. It then trains, and samples as it trains, on every device; a decoder that learns the kind
// adds it to its MixerKinds. In what a kind may do otherwise than Llama's does (a window, another activation) is a
// Feature (features.h), of which each back-end says which it computes: no model that has others gets to it.
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

/// How tensor ranks share a parameter: dimension `dim` is cut between its `count` units (heads, say), each of `width`
/// rows or columns. More ranks than units hold copies of them (parameter_shards.h).
struct Cut {
  int64_t dim = -1;  // -1: every rank holds it whole
  int64_t count = 0, width = 1;
  bool operator==(const Cut&) const = default;
};

/// One of a layer's experts. Expert ranks hold runs of them, each as many.
struct ExpertPlace {
  int64_t number = 0, of = 1;
  int64_t owner(int64_t num_ranks) const { return number / (of / num_ranks); }
};

/// Where a folder has a product among others: rows from `begin` on, of `rows`, of one named `of`, which has `groups` of
/// so many, one behind the other (of each head the rows of its query, then those of its gate). Its adapter shares the A
/// of the whole. Empty: it is there by itself.
struct FusedRows {
  std::string_view of;
  int64_t begin = 0, rows = 0, groups = 1;
  int64_t stacked = 0;  // matrices that the tensor has in a dimension of their own, without ".weight"; 0: none
};

/// y = x W^T + b. Names are of HF, within the layer; those of an Architecture, or literals.
struct LinearShape {
  std::string_view name;
  int64_t outputs = 0, inputs = 0;
  bool has_bias = false;
  Cut cut = {};
  AdapterShape adapter = {};
  std::optional<Quantisation> quantised = {};
  at::ScalarType quantised_from = at::kFloat;  // QuantisedMatrix::from
  double share = 1;                            // of the tokens, which go through it
  std::optional<ExpertPlace> expert = {};
  FusedRows fused = {};

  std::string_view name_in_folder() const { return fused.of.empty() ? name : fused.of; }
  /// What adapters are named by: of matrices that a folder stacks, each has its own.
  std::string_view adapted_name() const { return fused.stacked > 0 ? name : name_in_folder(); }
};

/// An RMSNorm over so many numbers; 0: there is none.
struct NormShape {
  std::string_view name;
  int64_t width = 0;
  double offset = 0;  // is added to its weight, which begins as 1 - offset (Gemma: 1)
  Cut cut = {};       // of a norm over all heads of ranks that share them
};

/// Weights that are neither a product's nor a norm's. `name` is whole: nothing follows it.
struct TensorShape {
  std::string_view name;
  std::vector<int64_t> shape;
  Cut cut = {};
  double initial = 0, deviation = 0;  // new numbers are normal around `initial`
  FusedRows fused = {};
  bool is_constant = false;  // never trained by gradients
  bool is_wide = false;      // float32 in models of 16 bits, too
};

/// What a token costs: floating-point operations, and numbers that are cached of it.
struct LayerCost {
  double flops = 0;                         // of a forward pass, whatever the sequence's length
  double square_flops = 0;                  // of a forward pass over a sequence, times its length squared
  int64_t cached = 0;                       // numbers in the KV cache of a tensor rank
  int64_t states = 0;                       // numbers of recurrent states, which each page of the cache has
  std::map<int64_t, double> windowed = {};  // square_flops of attention with a window, by its width

  LayerCost& operator+=(const LayerCost& other);
  /// What attention costs beside products.
  double pair_flops(double length) const;
  /// Of a page of so many tokens, whose numbers have `number_bytes`.
  int64_t page_bytes(int64_t tokens, int64_t number_bytes) const;
  /// Tokens of a page, at least: where it has states, so many that their keys and values weigh as much.
  int64_t page_tokens(int64_t least, int64_t number_bytes) const;
};

// A kind of mixer says of itself: its parts in HF's order, what it costs beside its products, and the rule
// ("must divide ..."; empty: none) that `tp` ranks break that cannot share it.

/// How queries and keys of an attention turn with their positions.
struct Turning {
  int64_t rope = 0;          // which of the model's (ModelSpec::ropes()); -1: they do not turn
  int64_t dim = 0;           // the first numbers of a head
  bool interleaved = false;  // in pairs (2i, 2i + 1)
  double scale = 1;          // of what turns
  bool grows = false;        // queries are scaled by their position
};

/// Causal attention of grouped heads with rotary positions.
struct Attention {
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  LinearShape q, k, v, o;     // v with outputs of 0: values are what keys are before their norm
  NormShape q_norm, k_norm;   // over each head, or over all of them
  bool norms_values = false;  // each head of them, without a weight
  int64_t shared = -1;        // which keys and values of those that layers share: this makes them, without k reads them
  LinearShape gate = {};      // of what heads read, before o: it is multiplied by sigmoid(gate(x)); outputs of 0: none
  Turning turning = {};
  int64_t window = 0;          // a token sees so many, itself included; 0: all before it
  double soft_cap = 0;         // c: scores are c tanh(score / c); 0: they stay as they are
  double scale_of_scores = 0;  // 0: 1 / sqrt(head_dim)

  template <class F>
  void for_each_part(const F& f) const {
    f(q);
    if (gate.outputs > 0) f(gate);
    for (const LinearShape* linear : {&k, &v, &o})
      if (linear->outputs > 0) f(*linear);
    for (const NormShape* norm : {&q_norm, &k_norm})
      if (norm->width > 0) f(*norm);
  }
  /// Where there are more tensor ranks than heads, ranks hold copies.
  int64_t kv_heads_of_rank(int64_t tp) const { return std::max<int64_t>(1, num_kv_heads / tp); }
  double scale() const;  // of the products of queries and keys
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

/// The products of experts: gate and up of each, then down of each, and their names. Layers that are alike share them.
struct ExpertParts {
  std::vector<std::vector<std::string>> names;
  std::vector<LinearShape> linears;
};

/// Gated MLPs, of which each token goes through the few that a router chooses, and maybe through one that all have:
/// sum of p_e mlp_e(x) + sigmoid(shared_gate(x)) shared(x).
struct Experts {
  RoutingRule routing = {};
  int64_t inner = 0;
  Activation activation = Activation::kSilu;
  int64_t number = 0;  // among the model's mixtures
  LinearShape router = {};
  TensorShape bias = {};           // [experts]: choose_experts(); without a name: there is none
  TensorShape router_scale = {};   // [hidden]; with a name, the router reads norm(x) * it / sqrt(hidden)
  TensorShape expert_scales = {};  // [experts]: of what each gives; without a name: 1
  std::shared_ptr<const ExpertParts> parts = {};
  std::optional<GatedMlp> shared = {};
  LinearShape shared_gate = {};  // outputs of 0: there is none, and sigmoid() is 1

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

/// A gated MLP that all tokens have, and experts beside it, each between norms of its own (Gemma 4):
/// mlp_after(mlp(mlp_norm(x))) + experts_after(experts(experts_norm(x))), where the router reads x itself.
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

/// Gated delta net (Yang, Kautz, Hatamizadeh 2024): each head reads a state of its own, which decays and of which each
/// token corrects what it holds under its key (ops/delta_rule.h). Queries, keys and values go through a short causal
/// convolution first; what heads read is normed and multiplied by silu(z(x)). Value heads share keys as in grouped
/// attention.
struct GatedDeltaNet {
  int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  int64_t kernel = 0;                  // tokens of the convolution
  LinearShape q, k, v, z, b, a, o;     // b: how much is corrected; a: how much decays
  TensorShape q_conv, k_conv, v_conv;  // [rows, 1, kernel]
  TensorShape dt_bias, a_log;          // of each value head: states decay by exp(-exp(a_log) softplus(a + dt_bias))
  NormShape norm;                      // over each value head

  template <class F>
  void for_each_part(const F& f) const {
    for (const LinearShape* linear : {&q, &k, &v, &z, &b, &a, &o}) f(*linear);
    for (const TensorShape* tensor : {&q_conv, &k_conv, &v_conv, &dt_bias, &a_log}) f(*tensor);
    f(norm);
  }
  /// Numbers of the convolution's input.
  int64_t convolved() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
  LayerCost own_cost(int64_t tp) const;
  std::string sharing_rule(int64_t tp) const;
};

/// What a layer is told of its tokens beside what the layer before it leaves (Gemma 3n's per-layer embeddings):
/// projection(activation(gate(x)) * input). Tensor ranks hold all of it, each for its own tokens.
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

/// x = scale_of_all * (x + scale * after(mixer(norm(x)))).
struct Block {
  NormShape norm;
  Mixer mixer;
  NormShape after = {};
  double scale = 1;
  TensorShape scale_of_all = {};  // [1]; without a name: 1

  int64_t hidden() const { return std::max(norm.width, after.width); }
};

using Layer = std::vector<Block>;

/// f(part) of each LinearShape, TensorShape and NormShape, in HF's order: first all mixers', then the blocks' norms and
/// scales.
template <class F>
void for_each_part(const Layer& layer, const F& f) {
  for (const Block& block : layer) std::visit([&](const auto& mixer) { mixer.for_each_part(f); }, block.mixer);
  for (const Block& block : layer)
    for (const NormShape* norm : {&block.norm, &block.after})
      if (norm->width > 0) f(*norm);
  for (const Block& block : layer)
    if (!block.scale_of_all.name.empty()) f(block.scale_of_all);
}

/// On one of `tp` tensor ranks, of each of its tokens.
LayerCost cost_of(const Layer& layer, int64_t tp = 1);
LayerCost cost_of(const std::vector<Layer>& layers, int64_t tp = 1);

/// The kinds of mixers that a back-end computes.
template <class... Kinds>
struct MixerKinds {
  static bool include_all_of(const std::vector<Layer>& layers) {
    for (const Layer& layer : layers)
      for (const Block& block : layer)
        if (!(std::holds_alternative<Kinds>(block.mixer) || ...)) return false;
    return true;
  }
  /// f(the mixer as what it is).
  template <class F>
  static void visit(const Mixer& mixer, const F& f) {
    const bool is_known =
        ((std::holds_alternative<Kinds>(mixer) ? (f(*std::get_if<Kinds>(&mixer)), true) : false) || ...);
    ROLL_CHECK(is_known, "a back-end is only given models whose mixers it computes");
  }
};

}  // namespace roll
