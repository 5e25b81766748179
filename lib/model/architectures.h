// The supported model architectures, one row each; no other file holds their names. Code for config.json takes the rest
// from the row, and all computation follows the layers that the row describes (layer.h). To add an architecture: its
// row in architectures.cpp, and a function if its layers are not dense_layers().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/layer.h"
#include "model/rope.h"

namespace roll {

struct ModelSpec;

/// Rule for a product's bias. kByConfig: if config.json's attention_bias (q, k, v, o) or mlp_bias is true; kUsually:
/// unless that key is false; kByQkvBias: unless qkv_bias is false.
enum class Bias { kNever, kAlways, kByConfig, kUsually, kByQkvBias };

/// Position of a block's norm: x += mixer(norm(x)), x += norm(mixer(x)), or both.
enum class NormPlace { kBefore, kBehind, kBoth };

/// Layers with sliding-window attention (config.json's sliding_window). kNone: none; kNotHere: none, and
/// use_sliding_window is refused; kOptIn: those of layer_types if use_sliding_window is true; kAll: all if
/// sliding_window is set; kPattern: those of layer_types, else all but every n-th.
enum class Windows { kNone, kNotHere, kOptIn, kAll, kPattern };

/// Layers with gated delta nets: none; else those of layer_types, or all but every n-th (full_attention_interval). A
/// folder fuses their projections into one tensor, grouped by key head or concatenated.
enum class DeltaNets { kNone, kByHeads, kSideBySide };

/// Kind of mixture of experts, and its keys in config.json. kNone: plain MLPs; kQwen: Qwen's keys; kDeepSeek:
/// DeepSeek-V3's keys, sigmoid routers with a bias; kBesideMlps: experts beside each MLP if enable_moe_block is true.
enum class Mixtures { kNone, kQwen, kDeepSeek, kBesideMlps };

/// HF's names of the weights; the defaults are Llama's, which most later models use.
struct WeightNames {
  std::string embedding = "model.embed_tokens", final_norm = "model.norm";
  std::string lm_head = "lm_head", value_head = "score";
  std::string layer = "model.layers.";  // + number, a dot and one of the following
  std::string input_norm = "input_layernorm", post_norm = "post_attention_layernorm";  // before attention and MLP
  std::string after_attention = "post_attention_layernorm", after_mlp = "post_feedforward_layernorm";
  std::string q = "self_attn.q_proj", k = "self_attn.k_proj", v = "self_attn.v_proj", o = "self_attn.o_proj";
  std::string q_norm = "self_attn.q_norm", k_norm = "self_attn.k_norm";
  std::string gate = "mlp.gate_proj", up = "mlp.up_proj", down = "mlp.down_proj";
  std::string input_table = "model.embed_tokens_per_layer", input_projection = "model.per_layer_model_projection";
  std::string input_projection_norm = "model.per_layer_projection_norm";
  std::string input_gate = "per_layer_input_gate", input_out = "per_layer_projection";
  std::string after_input = "post_per_layer_input_norm";
  std::string layer_scale = "";        // scalar that multiplies a layer's output; empty: none
  std::string qkv = "", gate_up = "";  // name of the fused tensor if a folder fuses q, k, v or gate, up
  std::string q_query = "self_attn.query", q_gate = "self_attn.gate";  // parts of q's tensor if attention is gated
};

/// Describes layers of attention, then a gated MLP, with the names, sizes and features of the spec.
std::vector<Layer> dense_layers(const ModelSpec& spec);

struct Architecture {
  std::string name;                       // config.json's model_type, and --arch
  std::string causal_class, value_class;  // HF's classes: language model; one value per token
  bool qk_norm = false;                   // RMSNorm over each head of q and k...
  bool optional_qk_norm = false;          // ... only if config.json sets use_qk_norm...
  bool wide_qk_norm = false;              // ... or over all heads together
  Bias qkv_bias = Bias::kNever, o_bias = Bias::kNever, mlp_bias = Bias::kNever;
  std::optional<int64_t> head_dim = {};  // default; unset: hidden_size / num_attention_heads
  bool tied_head = false;                // default of tie_word_embeddings
  double norm_eps = 1e-6;                // default of rms_norm_eps
  double norm_offset = 0;                // NormShape::offset
  NormPlace norms = NormPlace::kBefore;
  RopeDefaults rope = {};
  bool may_see_all = false;         // config.json's use_bidirectional_attention has an effect
  double local_theta = 0;           // RoPE theta of window layers; 0: the same RoPE as others; -1: rope_theta
  bool has_no_rope_layers = false;  // layers without RoPE exist: no_rope_layers
  Windows windows = Windows::kNone;
  int64_t window_pattern = 0, usual_window = 0;  // every n-th layer has none; default of sliding_window
  Activation activation = Activation::kSilu;
  const char* activation_key = "hidden_act";
  bool multipliers = false;     // embedding_multiplier, residual_multiplier, attention_multiplier, logits_scaling
  bool root_embedding = false;  // embeddings are scaled by sqrt(hidden_size)
  bool query_scalar = false;    // attention scores are scaled by 1 / sqrt(query_pre_attn_scalar)
  bool unit_scores = false;     // attention scores are not scaled
  bool full_heads = false;      // other heads in layers without a window (FullHeads), such as the last layer
  bool value_norm = false;      // RMSNorm without weight over each head of v
  double usual_score_cap = 0, usual_logit_cap = 0;  // defaults of attn_ and final_logit_softcapping
  Mixtures mixtures = Mixtures::kNone;
  bool has_shared_expert = false;  // Qwen's mixtures: one expert that all tokens use
  bool renormalises = false;       // default of norm_topk_prob
  bool fixed_mixture = false;      // all layers have experts, with renormalised weights; config.json has no say
  bool stacks_experts = false;     // a folder stacks a layer's experts in one tensor
  bool gated_attention = false;    // Attention::gate exists, fused with q in one tensor
  DeltaNets delta_nets = DeltaNets::kNone;
  bool has_more = false;               // config.json nests the language model's keys in text_config
  std::vector<std::string> kept = {};  // name prefixes of other parts' weights, kept unchanged
  WeightNames weights = {};
  bool has_further_layers = false;  // a folder has multi-token-prediction layers after the last one; kept unchanged
  std::vector<Layer> (*layers)(const ModelSpec& spec) = dense_layers;

  /// True if layers may have a window.
  bool has_windows() const { return windows != Windows::kNone && windows != Windows::kNotHere; }
  /// True if experts replace MLPs.
  bool has_experts() const { return mixtures == Mixtures::kQwen || mixtures == Mixtures::kDeepSeek; }
};

/// ModelSpec points to a row, so the table must outlive models.
using Architectures = std::vector<Architecture>;

/// Returns the program's own table; tests have others.
const Architectures& architectures();

/// Returns "qwen2, qwen3 and llama", with `last_word` before the last name.
std::string architecture_list(const std::string& last_word = "and", const Architectures& known = architectures());

/// Returns the row named `name`. UserError "origin = name: rule", with the nearest name: there is no such row.
const Architecture& find_architecture(const std::string& name, const std::string& origin,
                                      const Architectures& known = architectures());

}  // namespace roll
