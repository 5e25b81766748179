// Rows of multimodal folders. roll trains their language models on texts.
#include "model/architecture_families.h"

namespace roll {

namespace {

/// LLaVA's parts. transformers and the hub store them under prefixes other than those of its modules.
Architecture like_llava(const Architecture& text, const std::string& name, const std::string& model_class) {
  Architecture row = beside_others(text, {"model.vision_tower.", "model.multi_modal_projector."});
  row.name = name;
  row.causal_class = model_class;
  row.tied_head = true;
  row.other_prefixes = {{"language_model.model.", "model.language_model."},
                        {"language_model.lm_head.", "lm_head."},
                        {"vision_tower.", "model.vision_tower."},
                        {"multi_modal_projector.", "model.multi_modal_projector."}};
  return row;
}

Architecture with_vision(const Architecture& text, const std::string& name, const std::string& model_class) {
  Architecture row = beside_others(text, {"model.visual."});
  row.name = name;
  row.causal_class = model_class + "ForConditionalGeneration";
  row.value_class = model_class + "ForTokenClassification";
  row.rope.has_sections = true;
  return row;
}

Architectures llava(const Architectures& rows) {
  Architecture gemma3 =
      like_llava(find_architecture("gemma3_text", "", rows), "gemma3", "Gemma3ForConditionalGeneration");
  gemma3.value_class = "Gemma3ForSequenceClassification";
  gemma3.defaults = {{"vocab_size", 262208},
                     {"hidden_size", 2304},
                     {"intermediate_size", 9216},
                     {"num_hidden_layers", 26},
                     {"num_attention_heads", 8},
                     {"num_key_value_heads", 4},
                     {"max_position_embeddings", 131072}};
  const auto mistral3 = [&](const char* text) {
    Architecture row = like_llava(find_architecture(text, "", rows), "mistral3", "Mistral3ForConditionalGeneration");
    row.text_type = text;
    return row;
  };
  return {gemma3, mistral3("mistral"), mistral3("ministral3")};
}

Architectures qwen(const Architectures& rows) {
  Architecture qwen2_5 = with_vision(find_architecture("qwen2", "", rows), "qwen2_5_vl", "Qwen2_5_VL");
  qwen2_5.norm_eps = 1e-5;
  qwen2_5.rope.theta = 1e6;
  qwen2_5.may_be_flat = true;
  qwen2_5.other_prefixes = {{"visual.", "model.visual."}, {"model.", "model.language_model."}};
  Architecture dense = with_vision(find_architecture("qwen3", "", rows), "qwen3_vl", "Qwen3VL");
  dense.rope.theta = 5e5;
  dense.windows = Windows::kNone;
  Architecture mixture = with_vision(find_architecture("qwen3_moe", "", rows), "qwen3_vl_moe", "Qwen3VLMoe");
  mixture.rope.theta = 5e5;
  mixture.windows = Windows::kNone;
  mixture.renormalises = mixture.always_renormalises = true;
  mixture.stacks_experts = mixture.may_transpose_experts = true;
  return {qwen2_5, dense, mixture};
}

Architectures glm(const Architectures& rows) {
  Architecture dense = with_vision(find_architecture("glm4", "", rows), "glm4v", "Glm4v");
  dense.qkv_bias = Bias::kAlways;
  dense.head_dim.reset();
  dense.norm_eps = 1e-5;
  dense.rope.partial = 1;
  Architecture mixture = with_vision(find_architecture("glm4_moe", "", rows), "glm4v_moe", "Glm4vMoe");
  mixture.qk_norm = mixture.optional_qk_norm = false;
  mixture.qkv_bias = Bias::kUsually;
  mixture.defaults = {{"n_shared_experts", 1}, {"first_k_dense_replace", 1}};
  return {dense, mixture};
}

}  // namespace

Architectures multimodal(const Architectures& rows) {
  Architectures all;
  for (const auto family : {llava, qwen, glm})
    for (Architecture& row : family(rows)) all.push_back(std::move(row));
  return all;
}

}  // namespace roll
