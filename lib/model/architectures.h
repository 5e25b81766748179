// Table of the supported model architectures, one Architecture ("row") each. spec.cpp reads and writes config.json by
// the row, and all computation follows the layers that the row's function `layers` describes (layer.h).
// To add an architecture: add a row in architectures.cpp, and a function if dense_layers() does not describe its
// layers. "Key" below means a key of config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/name_prefix.h"
#include "model/layer.h"
#include "model/rope.h"

namespace roll {

struct ModelSpec;

/// Says if linear layers have a bias.
enum class Bias {
  kNever,
  kAlways,
  kByConfig,  // if their key is true; absent: no bias
  kUsually,   // unless their key is false
};

/// The keys that decide on biases: of q, k and v, of o, and of MLPs.
struct BiasKeys {
  const char *qkv = "attention_bias", *o = "attention_bias", *mlp = "mlp_bias";
};

/// Position of a block's norm: kBefore: x += mixer(norm(x)); kAfter: x += norm(mixer(x)); kBoth: both norms.
enum class NormPlace { kBefore, kAfter, kBoth };

/// Layers with sliding-window attention; the key sliding_window holds the window's width in tokens.
enum class Windows {
  kNone,     // no layer
  kRefused,  // no layer; parse_spec() throws UserError if use_sliding_window is true and sliding_window is set
  kOptIn,   // if use_sliding_window is true: the layers that layer_types marks, or else those from max_window_layers on
  kLate,    // like kOptIn, if sliding_window is set; use_sliding_window does not count
  kAll,     // all layers, if sliding_window is set
  kTyped,   // the layers that layer_types marks, or else all layers, if sliding_window is set
  kMarked,  // the layers that layer_types marks
  kPattern,  // the layers that layer_types marks; without layer_types all but every window_pattern-th layer
};

/// Layers with gated delta nets in place of attention: kNone: no layer; otherwise the layers that layer_types marks, or
/// without that key all but every n-th (n: full_attention_interval). The folder fuses projections of a delta net into
/// one tensor: kByHeads groups its rows by key head, kSideBySide concatenates the projections.
enum class DeltaNets { kNone, kByHeads, kSideBySide };

/// Layers without RoPE. kNone: no layer; kListed: the layers for which the key no_rope_layers has 0; kWithoutWindow:
/// the layers without a window, if the key sliding_window is set.
enum class NoRope { kNone, kListed, kWithoutWindow };

/// Kind of mixture of experts, and the model family whose keys describe it. kNone: no experts. kQwen: Qwen's keys.
/// kMixtral: Mixtral's keys, all layers have experts, whose size is intermediate_size. kDeepSeek2: DeepSeek-V2's keys.
/// kDeepSeek: DeepSeek-V3's keys, sigmoid routers with a bias. kBesideMlps: Gemma 4's keys, experts beside each MLP if
/// enable_moe_block is true.
enum class Mixtures { kNone, kQwen, kMixtral, kDeepSeek2, kDeepSeek, kBesideMlps };

/// HF's names of the modules with weights, without ".weight"; the defaults are Llama's, which most later models use.
struct WeightNames {
  std::string embedding = "model.embed_tokens", final_norm = "model.norm";
  std::string lm_head = "lm_head", value_head = "score";
  std::string layer = "model.layers.";  // followed by the layer's number, a dot and a name within the layer
  // Names within a layer, unless they begin with "model.". First the norms; after_* exist with NormPlace kAfter and
  // kBoth, before_* with kBefore and kBoth.
  std::string before_attention = "input_layernorm";
  std::string before_mlp = "post_attention_layernorm";
  std::string after_attention = "post_attention_layernorm";  // norm of attention's result
  std::string after_mlp = "post_feedforward_layernorm";      // norm of the MLP's result
  std::string q = "self_attn.q_proj", k = "self_attn.k_proj", v = "self_attn.v_proj", o = "self_attn.o_proj";
  std::string q_norm = "self_attn.q_norm", k_norm = "self_attn.k_norm", sinks = "self_attn.sinks";
  std::string gate = "mlp.gate_proj", up = "mlp.up_proj", down = "mlp.down_proj";
  // Experts: their module, and each one's products in it; the two tensors of a folder that stacks them, whose names are
  // complete; router, and bias of a sigmoid router.
  std::string experts = "mlp.experts", expert_gate = "gate_proj", expert_up = "up_proj", expert_down = "down_proj";
  std::string stacked_gate_up = "mlp.experts.gate_up_proj", stacked_down = "mlp.experts.down_proj";
  std::string router = "mlp.gate", router_bias = "mlp.gate.e_score_correction_bias";
  // Per-layer inputs (LayerInput in layer.h): a second embedding, a projection of the first one and its norm; in each
  // layer a gate, a projection and a norm of the result.
  std::string input_table = "model.embed_tokens_per_layer", input_projection = "model.per_layer_model_projection";
  std::string input_projection_norm = "model.per_layer_projection_norm";
  std::string input_gate = "per_layer_input_gate", input_out = "per_layer_projection";
  std::string after_input = "post_per_layer_input_norm";
  std::string layer_scale = "";        // scalar weight that multiplies a layer's output; empty: the model has none
  std::string qkv = "", gate_up = "";  // name of the fused tensor, if the folder fuses q, k and v, or gate and up
  // Our own names (not HF's) for the two parts of q's tensor if attention is gated: the queries and the gate.
  std::string q_query = "self_attn.query", q_gate = "self_attn.gate";
};

/// HF's names of the modules of a multi-token-prediction head (mtp.h), behind a common prefix.
struct MtpNames {
  std::string prefix = "";  // empty: the head is numbered as a layer behind the model's layers
  std::string layer = "";   // prefix of the head's decoder layer
  std::string projection = "eh_proj", embedding_norm = "enorm", hidden_norm = "hnorm", norm = "shared_head.norm";
  std::string embedding_copy = "embed_tokens", head_copy = "shared_head.head";  // copies of the model's; empty: none
  const char* count_key = "num_nextn_predict_layers";                           // the key with the number of heads
};

/// Returns the description of spec.num_layers layers: attention (or a delta net), then a gated MLP, then a LayerInput
/// if the spec has per-layer inputs.
std::vector<Layer> dense_layers(const ModelSpec& spec);

struct Architecture {
  std::string name;               // config.json's model_type; also the value of the flag --arch
  std::string causal_class;       // HF's class of the language model
  std::string value_class;        // HF's class of a model with one value per token
  bool qk_norm = false;           // q and k have an RMSNorm, over each head unless wide_qk_norm is set
  bool optional_qk_norm = false;  // with qk_norm: only if the key use_qk_norm is true
  bool wide_qk_norm = false;      // with qk_norm: the norm is over all heads together
  bool norms_after_rope = false;  // with qk_norm: q and k are normed behind RoPE
  Bias qkv_bias = Bias::kNever, o_bias = Bias::kNever, mlp_bias = Bias::kNever;
  BiasKeys bias_keys = {};
  std::optional<int64_t> head_dim = {};  // default of the key head_dim; unset: hidden_size / num_attention_heads
  bool tied_head = false;                // default of tie_word_embeddings
  double norm_eps = 1e-6;                // default of rms_norm_eps
  double norm_offset = 0;                // added to the weights of all RMSNorms (Gemma: 1)
  NormPlace norms = NormPlace::kBefore;
  RopeDefaults rope = {};
  bool has_sinks = false;              // attention has sinks (Attention::sinks)
  bool has_latents = false;            // latent attention in all layers (latent_attention.h)
  bool has_bidirectional_key = false;  // reads use_bidirectional_attention, and refuses the value true
  // Default RoPE theta of layers with a window; -1: the value of rope_theta; 0: they share the other layers' RoPE.
  double local_theta = 0;
  NoRope no_rope = NoRope::kNone;
  Windows windows = Windows::kNone;
  int64_t window_pattern = 0;  // for kPattern: default of sliding_window_pattern, n: every n-th layer has no window
  int64_t usual_window = 0;    // default of sliding_window; 0: no window unless the key is set
  Activation activation = Activation::kSilu;
  const char* activation_key = "hidden_act";  // the key that names the activation
  bool multipliers = false;  // reads embedding_multiplier, residual_multiplier, attention_multiplier and logits_scaling
  bool root_embedding = false;  // embeddings are scaled by sqrt(hidden_size)
  bool query_scalar = false;    // attention scores are scaled by 1 / sqrt(query_pre_attn_scalar)
  bool unit_scores = false;     // attention scores are not scaled
  bool full_heads = false;      // layers without a window (always the last one) have heads of other sizes: FullHeads
  bool value_norm = false;      // RMSNorm without weight over each head of v
  double usual_score_cap = 0;   // default of attn_logit_softcapping; 0: no cap
  double usual_logit_cap = 0;   // default of final_logit_softcapping; 0: no cap
  Mixtures mixtures = Mixtures::kNone;
  bool has_shared_expert = false;  // Qwen's mixtures: beside the routed experts, one expert that all tokens use
  bool renormalises = false;  // default of norm_topk_prob: the weights of a token's experts are scaled to the sum 1
  bool always_renormalises = false;  // `renormalises` holds whatever norm_topk_prob says
  bool typed_mlps = false;           // mlp_layer_types says which layers have experts
  bool fixed_mixture = false;        // Qwen's mixtures: all layers have experts; keys that say otherwise are ignored
  bool sigmoid_routers = false;      // Mixtral's mixtures: routers take sigmoids and have a bias, like DeepSeek-V3's
  bool stacks_experts = false;       // the folder stacks the experts of a layer in one tensor per kind of weight
  bool transposes_experts = false;   // with stacks_experts: the folder's stacks are [experts, inputs, outputs]
  bool weaves_experts = false;  // with stacks_experts: rows of gate and up alternate in a stack, else up follows gate
  bool expert_bias = false;     // routers and experts have biases
  bool may_transpose_experts = false;  // with stacks_experts: a folder's stacks may be [experts, inputs, outputs]
  bool gated_attention = false;        // attention's output is gated (Attention::gate); the folder fuses gate and q
  DeltaNets delta_nets = DeltaNets::kNone;
  bool is_multimodal = false;  // the folder holds other models, too (vision); text_config has the language model's keys
  std::string text_type = "";  // with is_multimodal: text_config's model_type, if rows of the same name differ in it
  std::string text_row = "";   // with is_multimodal: name of the row of the language model alone
  bool may_be_flat = false;    // with is_multimodal: the language model's keys may lie outside of text_config
  std::vector<std::string> kept = {};  // name prefixes of the other models' weights; they are saved again unchanged
  std::vector<NamePrefix> other_prefixes = {};  // names that other versions of transformers wrote
  WeightNames weights = {};
  std::optional<MtpNames> mtp = {};  // a folder may have a multi-token-prediction head; it is saved again unchanged
  bool ignores_dropout = false;      // released folders ask for dropout, which roll never applies; others are refused
  std::vector<std::pair<const char*, int64_t>> defaults = {};  // values of keys that config.json lacks
  std::vector<std::string> needed_keys = {};   // keys without which transformers takes unusual default values
  std::vector<const char*> refused_keys = {};  // keys of computations that roll lacks; only null is accepted
  std::vector<Layer> (*layers)(const ModelSpec& spec) = dense_layers;  // describes the layers of a model

  /// True if layers may have a window.
  bool has_windows() const { return windows != Windows::kNone && windows != Windows::kRefused; }
  /// True if experts replace MLPs (in all layers or some).
  bool has_experts() const { return mixtures != Mixtures::kNone && mixtures != Mixtures::kBesideMlps; }
  /// True if the keys and names of mixtures are DeepSeek's.
  bool is_deepseek() const { return mixtures == Mixtures::kDeepSeek || mixtures == Mixtures::kDeepSeek2; }
  /// True if routers take sigmoids and have a bias.
  bool has_sigmoid_routers() const { return sigmoid_routers || mixtures == Mixtures::kDeepSeek; }
  /// True if config.json must have the key.
  bool needs(const std::string& key) const;
};

/// A ModelSpec points to a row, so the table must outlive all specs and models made with it.
using Architectures = std::vector<Architecture>;

/// Returns the program's own table. Parameters called `known` take it by default; tests pass tables with fewer rows.
const Architectures& architectures();

/// Returns all names as text for messages, such as "qwen2, qwen3 and llama"; `last_word` precedes the last name.
std::string architecture_list(const std::string& last_word = "and", const Architectures& known = architectures());

/// Returns the first row named `name`. Throws UserError "origin = name: only ... are supported" if there is none;
/// `origin` says where the name came from, such as "--arch".
const Architecture& find_architecture(const std::string& name, const std::string& origin,
                                      const Architectures& known = architectures());
/// Returns nullptr if there is no row of that name.
const Architecture* look_up_architecture(const std::string& name, const Architectures& known = architectures());

}  // namespace roll
