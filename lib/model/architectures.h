// The model architectures that this program knows, one row each: the only place that holds their names. Whoever
// reads or writes config.json takes the rest from the row, and layers read the features that a ModelSpec has from it
// (spec.h). To add one: its row in architectures.cpp. What sets it apart and is not here yet becomes a field here
// and in ModelSpec.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace roll {

/// Whether a product has a bias; kByConfig: config.json's attention_bias (q, k, v, o) or mlp_bias says so.
enum class Bias { kNever, kAlways, kByConfig };

/// What HF calls the weights; the defaults are Llama's, which most later models took over.
struct WeightNames {
  std::string embedding = "model.embed_tokens", final_norm = "model.norm";
  std::string lm_head = "lm_head", value_head = "score";
  std::string layer = "model.layers.";  // + number, a dot and one of the following
  std::string input_norm = "input_layernorm", post_norm = "post_attention_layernorm";
  std::string q = "self_attn.q_proj", k = "self_attn.k_proj", v = "self_attn.v_proj", o = "self_attn.o_proj";
  std::string q_norm = "self_attn.q_norm", k_norm = "self_attn.k_norm";
  std::string gate = "mlp.gate_proj", up = "mlp.up_proj", down = "mlp.down_proj";
};

struct Architecture {
  std::string name;                       // config.json's model_type, and --arch
  std::string causal_class, value_class;  // HF's classes: a language model, and one number per token
  bool qk_norm = false;                   // RMSNorm over each head of q and k
  Bias qkv_bias = Bias::kNever, o_bias = Bias::kNever, mlp_bias = Bias::kNever;
  std::optional<int64_t> head_dim = {};  // where config.json has none; unset: hidden_size / num_attention_heads
  bool tied_head = false;                // where config.json has no tie_word_embeddings
  WeightNames weights = {};
};

/// All rows. A row stays where it is for as long as it is there, since models point to it; tests add some.
std::deque<Architecture>& architectures();

/// "qwen2, qwen3 and llama", with another last word.
std::string architecture_list(const std::string& last_word = "and");

/// The row of that name. UserError "origin = name: rule" with the nearest name.
const Architecture& find_architecture(const std::string& name, const std::string& origin);

}  // namespace roll
