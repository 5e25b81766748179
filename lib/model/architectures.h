// The model architectures that this program knows, one row each: the only place that holds their names. Whoever
// reads or writes config.json takes the rest from the row, and all that computes follows the layers that it describes
// (layer.h). To add one: its row in architectures.cpp, and a function where its layers are not dense_layers().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/layer.h"
#include "model/rope.h"

namespace roll {

struct ModelSpec;

/// Whether a product has a bias; kByConfig: config.json's attention_bias (q, k, v, o) or mlp_bias says so; kUsually: it
/// may say that there is none; kByQkvBias: qkv_bias may.
enum class Bias { kNever, kAlways, kByConfig, kUsually, kByQkvBias };

/// Where a block has its norm: x += mixer(norm(x)), x += norm(mixer(x)), or one at each place.
enum class NormPlace { kBefore, kBehind, kBoth };

/// Which layers see a window (config.json's sliding_window) and no more: none, whatever it says; none, but transformers
/// has them where use_sliding_window asks for it; those of layer_types where that does; all where there is one; those
/// of layer_types, else all but each n-th.
enum class Windows { kNone, kNotHere, kOptIn, kAll, kPattern };

/// Whether some layers have delta nets: none; those of layer_types, else all but each n-th (full_attention_interval).
/// Their products lie in one tensor by key heads, or side by side.
enum class DeltaNets { kNone, kByHeads, kSideBySide };

/// Whether MLPs are mixtures of experts, and what config.json calls their numbers: none are; as Qwen's; as
/// DeepSeek-V3's, whose routers are sigmoids with a bias; beside MLPs, where enable_moe_block says so.
enum class Mixtures { kNone, kQwen, kDeepSeek, kBesideMlps };

/// What HF calls the weights; the defaults are Llama's, which most later models took over.
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
  std::string input_norm_of_all = "model.per_layer_projection_norm";
  std::string input_gate = "per_layer_input_gate", input_out = "per_layer_projection";
  std::string after_input = "post_per_layer_input_norm";
  std::string layer_scale = "";        // of all that a layer leaves; empty: there is none
  std::string qkv = "", gate_up = "";  // where a folder has q, k and v, or gate and up, in one tensor: its name
  std::string q_query = "self_attn.query", q_gate = "self_attn.gate";  // parts of q's tensor, where it is gated
};

/// Attention, then a gated MLP, with the names, sizes and features of the spec.
std::vector<Layer> dense_layers(const ModelSpec& spec);

struct Architecture {
  std::string name;                       // config.json's model_type, and --arch
  std::string causal_class, value_class;  // HF's classes: a language model, and one number per token
  bool qk_norm = false;                   // RMSNorm over each head of q and k...
  bool optional_qk_norm = false;          // ... where config.json's use_qk_norm asks for it...
  bool wide_qk_norm = false;              // ... or over all of them together
  Bias qkv_bias = Bias::kNever, o_bias = Bias::kNever, mlp_bias = Bias::kNever;
  std::optional<int64_t> head_dim = {};  // where config.json has none; unset: hidden_size / num_attention_heads
  bool tied_head = false;                // where config.json has no tie_word_embeddings
  double norm_eps = 1e-6;                // where it has no rms_norm_eps
  double norm_offset = 0;                // NormShape::offset
  NormPlace norms = NormPlace::kBefore;
  RopeDefaults rope = {};
  bool may_see_all = false;      // use_bidirectional_attention counts
  double local_theta = 0;        // of layers with a window, where these have a rotation of their own; -1: rope_theta
  bool unturned_layers = false;  // some do not rotate: no_rope_layers
  Windows windows = Windows::kNone;
  int64_t window_pattern = 0, usual_window = 0;  // each n-th layer has none; where config.json has no sliding_window
  Activation activation = Activation::kSilu;
  const char* activation_key = "hidden_act";
  bool multipliers = false;     // embedding_multiplier, residual_multiplier, attention_multiplier, logits_scaling
  bool root_embedding = false;  // embeddings are scaled by sqrt(hidden_size)
  bool query_scalar = false;    // scores by 1 / sqrt(query_pre_attn_scalar)
  bool unit_scores = false;     // scores are not scaled
  bool full_heads = false;      // FullHeads, beside a last layer without a window
  bool value_norm = false;      // RMSNorm without weight over each head of v
  double usual_score_cap = 0, usual_logit_cap = 0;  // attn_ and final_logit_softcapping, where config.json has none
  Mixtures mixtures = Mixtures::kNone;
  bool has_shared_expert = false;  // of Qwen's
  bool renormalises = false;       // where config.json has no norm_topk_prob
  bool fixed_mixture = false;      // all layers have experts, whose weights are renormalised, whatever config.json says
  bool stacks_experts = false;     // a folder has all of a layer in one tensor
  bool gated_attention = false;    // Attention::gate, in one tensor with q
  DeltaNets delta_nets = DeltaNets::kNone;
  bool has_more = false;               // config.json has the language model's in text_config
  std::vector<std::string> kept = {};  // what names of weights of other parts begin with, which are kept as they are
  WeightNames weights = {};
  bool has_further_layers = false;  // a folder has layers behind the last one, which guess further tokens: kept, too
  std::vector<Layer> (*layers)(const ModelSpec& spec) = dense_layers;

  /// Whether layers may see a window.
  bool has_windows() const { return windows != Windows::kNone && windows != Windows::kNotHere; }
  /// In place of MLPs.
  bool has_experts() const { return mixtures == Mixtures::kQwen || mixtures == Mixtures::kDeepSeek; }
};

/// Models point to its rows, so a table outlives them.
using Architectures = std::vector<Architecture>;

/// All that the program knows; tests have tables of their own.
const Architectures& architectures();

/// "qwen2, qwen3 and llama", with another last word.
std::string architecture_list(const std::string& last_word = "and", const Architectures& known = architectures());

/// The row of that name. UserError "origin = name: rule" with the nearest name.
const Architecture& find_architecture(const std::string& name, const std::string& origin,
                                      const Architectures& known = architectures());

}  // namespace roll
