// Rows of architectures that differ from those in architectures.cpp in few features.
#include "model/architecture_families.h"
#include "model/spec.h"

namespace roll {

namespace {

/// Mixtral's names of experts; their products w1, w3 and w2 are gate, up and down.
WeightNames sparse_moe_names() {
  return {.experts = "block_sparse_moe.experts",
          .expert_gate = "w1",
          .expert_up = "w3",
          .expert_down = "w2",
          .router = "block_sparse_moe.gate",
          .router_bias = "block_sparse_moe.e_score_correction_bias"};
}

Architectures dense_like_llama() {
  return {
      {.name = "seed_oss",
       .causal_class = "SeedOssForCausalLM",
       .value_class = "SeedOssForTokenClassification",
       .qkv_bias = Bias::kUsually,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig,
       .bias_keys = {.o = "attention_out_bias"},
       .head_dim = 128,
       .ignores_dropout = true},
      {.name = "internlm3",
       .causal_class = "InternLM3ForCausalLM",
       .value_class = "InternLM3ForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig,
       .bias_keys = {.qkv = "qkv_bias", .o = "bias", .mlp = "bias"}},
      {.name = "iquestcoder",
       .causal_class = "IQuestCoderForCausalLM",
       .value_class = "LlamaForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig,
       .head_dim = 128,
       .norm_eps = 1e-5,
       .windows = Windows::kRefused,
       .refused_keys = {"clip_qkv"}},
      {.name = "cwm",
       .causal_class = "CwmForCausalLM",
       .value_class = "CwmForTokenClassification",
       .mlp_bias = Bias::kByConfig,
       .head_dim = 128,
       .norm_eps = 1e-5,
       .rope = {.theta = 1e6},
       .windows = Windows::kMarked,
       .usual_window = 8192,
       .needed_keys = {"rope_parameters", "layer_types"}},
      {.name = "exaone4",
       .causal_class = "Exaone4ForCausalLM",
       .value_class = "Exaone4ForTokenClassification",
       .qk_norm = true,
       .norm_eps = 1e-5,
       .norms = NormPlace::kAfter,
       .no_rope = NoRope::kWithoutWindow,
       .windows = Windows::kPattern,
       .window_pattern = 4,
       .usual_window = 4096},
      {.name = "hunyuan_v1_dense",
       .causal_class = "HunYuanDenseV1ForCausalLM",
       .value_class = "HunYuanDenseV1ForSequenceClassification",
       .qk_norm = true,
       .norms_after_rope = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .norm_eps = 1e-5,
       .rope = {.reads_alpha = true},
       .weights = {.q_norm = "self_attn.query_layernorm", .k_norm = "self_attn.key_layernorm"}},
  };
}

/// RoPE of ERNIE and Helium rotates neighbouring elements, like GLM's.
Architectures dense_like_glm() {
  return {
      {.name = "ernie4_5",
       .causal_class = "Ernie4_5ForCausalLM",
       .value_class = "Ernie4_5ForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig,
       .bias_keys = {.qkv = "use_bias", .o = "use_bias", .mlp = "use_bias"},
       .head_dim = 128,
       .tied_head = true,
       .norm_eps = 1e-5,
       .rope = {.theta = 5e5, .interleaved = true}},
      {.name = "helium",
       .causal_class = "HeliumForCausalLM",
       .value_class = "HeliumForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .mlp_bias = Bias::kByConfig,
       .head_dim = 128,
       .norm_eps = 1e-8,
       .rope = {.theta = 1e5, .interleaved = true}},
  };
}

Architectures mixtures_like_mixtral() {
  WeightNames granite = sparse_moe_names();
  granite.stacked_gate_up = "block_sparse_moe.input_linear.weight";
  granite.stacked_down = "block_sparse_moe.output_linear.weight";
  granite.router = "block_sparse_moe.router.layer";
  return {
      {.name = "mixtral",
       .causal_class = "MixtralForCausalLM",
       .value_class = "MixtralForTokenClassification",
       .norm_eps = 1e-5,
       .rope = {.theta = 1e6},
       .windows = Windows::kAll,
       .mixtures = Mixtures::kMixtral,
       .renormalises = true,
       .always_renormalises = true,
       .weights = sparse_moe_names(),
       .layers = mixture_layers},
      {.name = "minimax_m2",
       .causal_class = "MiniMaxM2ForCausalLM",
       .value_class = "MiniMaxM2ForTokenClassification",
       .qk_norm = true,
       .wide_qk_norm = true,
       .head_dim = 128,
       .rope = {.theta = 5e6, .allows_partial = true, .reads_rotary_dim = true},
       .mixtures = Mixtures::kMixtral,
       .renormalises = true,
       .always_renormalises = true,
       .sigmoid_routers = true,
       .weights = sparse_moe_names(),
       .layers = mixture_layers},
      {.name = "granitemoe",
       .causal_class = "GraniteMoeForCausalLM",
       .value_class = "GraniteMoeForSequenceClassification",
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .multipliers = true,
       .mixtures = Mixtures::kMixtral,
       .renormalises = true,
       .always_renormalises = true,
       .stacks_experts = true,
       .weights = granite,
       .layers = mixture_layers},
  };
}

Architectures mixtures_like_olmo() {
  return {
      {.name = "olmoe",
       .causal_class = "OlmoeForCausalLM",
       .value_class = "OlmoeForSequenceClassification",
       .qk_norm = true,
       .wide_qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .norm_eps = 1e-5,
       .mixtures = Mixtures::kMixtral,
       .refused_keys = {"clip_qkv"},
       .layers = mixture_layers},
      {.name = "flex_olmo",
       .causal_class = "FlexOlmoForCausalLM",
       .value_class = "FlexOlmoForSequenceClassification",
       .qk_norm = true,
       .wide_qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .norms = NormPlace::kAfter,
       .rope = {.theta = 5e5},
       .mixtures = Mixtures::kMixtral,
       .layers = mixture_layers},
  };
}

Architectures mixtures_like_qwen_and_glm() {
  return {
      {.name = "mellum",
       .causal_class = "MellumForCausalLM",
       .value_class = "MellumForTokenClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .head_dim = 128,
       .rope = {.theta = 5e5},
       .local_theta = 10000,
       .windows = Windows::kMarked,
       .usual_window = 1024,
       .mixtures = Mixtures::kQwen,
       .renormalises = true,
       .typed_mlps = true,
       .kept = {"mtp."},
       .needed_keys = {"rope_parameters"},
       .refused_keys = {"rope_scaling"},
       .layers = mixture_layers},
      {.name = "dots1",
       .causal_class = "Dots1ForCausalLM",
       .value_class = "Dots1ForTokenClassification",
       .qk_norm = true,
       .qkv_bias = Bias::kByConfig,
       .o_bias = Bias::kByConfig,
       .windows = Windows::kLate,
       .usual_window = 4096,
       .mixtures = Mixtures::kDeepSeek,
       .defaults = {{"max_window_layers", 62}},
       .layers = mixture_layers},
      {.name = "solar_open",
       .causal_class = "SolarOpenForCausalLM",
       .value_class = "SolarOpenForTokenClassification",
       .qkv_bias = Bias::kByConfig,
       .head_dim = 128,
       .norm_eps = 1e-5,
       .rope = {.theta = 1e6, .allows_partial = true},
       .mixtures = Mixtures::kDeepSeek,
       .renormalises = true,
       .defaults = {{"n_shared_experts", 1}},
       .layers = mixture_layers},
  };
}

Architecture gpt_oss() {
  return {.name = "gpt_oss",
          .causal_class = "GptOssForCausalLM",
          .value_class = "GptOssForTokenClassification",
          .qkv_bias = Bias::kUsually,
          .o_bias = Bias::kUsually,
          .head_dim = 64,
          .norm_eps = 1e-5,
          .rope = {.theta = 150000},
          .has_sinks = true,
          .windows = Windows::kPattern,
          .window_pattern = 2,
          .usual_window = 128,
          .activation = Activation::kClampedSwiglu,
          .mixtures = Mixtures::kMixtral,
          .renormalises = true,
          .always_renormalises = true,
          .stacks_experts = true,
          .transposes_experts = true,
          .weaves_experts = true,
          .expert_bias = true,
          .weights = {.router = "mlp.router"},
          .needed_keys = {"rope_parameters"},
          .layers = mixture_layers};
}

/// DeepSeek's latent attention and mixtures, and attention with sinks.
Architectures with_latents_or_sinks() {
  const Architecture deepseek = {
      .name = "deepseek_v3",
      .causal_class = "DeepseekV3ForCausalLM",
      .value_class = "DeepseekV3ForTokenClassification",
      .qkv_bias = Bias::kByConfig,
      .o_bias = Bias::kByConfig,
      .rope = {.interleaved = true, .reads_interleave = true},
      .has_latents = true,
      .mixtures = Mixtures::kDeepSeek,
      .renormalises = true,
      .mtp = MtpNames(),
      .needed_keys = {"first_k_dense_replace", "n_group", "topk_group", "n_shared_experts", "routed_scaling_factor"},
      .layers = mixture_layers};
  Architecture kimi = deepseek, glm = deepseek, older = deepseek;
  kimi.name = "kimi_k2";  // the same model under another name; transformers reads its folders by code of their own
  glm.name = "glm4_moe_lite";
  glm.causal_class = "Glm4MoeLiteForCausalLM";
  glm.value_class = "Glm4MoeLiteForTokenClassification";
  glm.norm_eps = 1e-5;
  glm.typed_mlps = true;
  glm.needed_keys = older.needed_keys = {"n_shared_experts", "routed_scaling_factor"};
  older.name = "deepseek_v2";
  older.causal_class = "DeepseekV2ForCausalLM";
  older.value_class = "DeepseekV2ForSequenceClassification";
  older.rope.reads_interleave = older.renormalises = false;
  older.mtp.reset();
  older.mixtures = Mixtures::kDeepSeek2;
  return {deepseek, kimi, glm, older, gpt_oss()};
}

Architectures joined(Architectures rows, const Architectures& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace

Architectures further_dense() {
  return joined(dense_like_llama(), dense_like_glm());
}

Architectures further_mixtures() {
  return joined(joined(mixtures_like_mixtral(), mixtures_like_olmo()),
                joined(mixtures_like_qwen_and_glm(), with_latents_or_sinks()));
}

}  // namespace roll
