// Configuration keys of a role's model (section model_args of a YAML file): folder, dtype, adapters, quantisation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/keys.h"
#include "ops/quantisation.h"

namespace roll {

/// Dtype of a forward pass. kInt8, kInt4: the CPU sampler stores weights in 8 or 4 bits; no tensor of a model has this
/// dtype.
enum class Dtype { kFp32, kBf16, kFp16, kInt8, kInt4 };
constexpr auto enum_names(Dtype) {
  return std::to_array<Named<Dtype>>({{Dtype::kFp32, "fp32"},
                                      {Dtype::kBf16, "bf16"},
                                      {Dtype::kFp16, "fp16"},
                                      {Dtype::kFp32, "float32"},
                                      {Dtype::kBf16, "bfloat16"},
                                      {Dtype::kFp16, "float16"},
                                      {Dtype::kInt8, "int8"},
                                      {Dtype::kInt4, "int4"}});
}

/// Returns 8 or 4 if a sampler stores weights in so many bits under this dtype; 0 if it has the model's.
constexpr int64_t weight_bits(Dtype dtype) {
  return dtype == Dtype::kInt8 ? 8 : dtype == Dtype::kInt4 ? 4 : 0;
}

/// Returns the bytes of a weight that a sampler stores in `bits` (8 or 4, with its part of a scale); `element` if 0.
constexpr double sampled_weight_bytes(int64_t bits, double element) {
  constexpr double kNibble = 0.5625;  // a scale of 16 bits per 32 weights (ops/nibble_product.h)
  return bits == 4 ? kNibble : bits == 8 ? 1 : element;
}

/// The meaning of each key is the text beside it in fields(); an unset optional means null, whose effect is given
/// there.
struct ModelArgs {
  std::optional<std::string> model_name_or_path;
  std::optional<Dtype> dtype;
  bool disable_gradient_checkpointing = false;
  std::vector<std::string> freeze_module_prefix;
  std::optional<int64_t> ulysses_size;
  std::optional<int64_t> lora_rank;
  std::optional<double> lora_alpha;
  std::vector<std::string> lora_target, additional_target;
  double lora_dropout = 0;
  bool use_dora = false, use_rslora = false;
  std::optional<Quantisation> quantise_base;

  /// True if adapters are trained: lora_target is set (ROLL's rule), or lora_rank is above 0.
  bool trains_adapters() const { return lora_rank.value_or(0) > 0 || !lora_target.empty(); }

  /// Returns weight_bits() of `dtype`; 0 if that is null.
  int64_t weight_bits() const { return dtype ? roll::weight_bits(*dtype) : 0; }

  void fields(Keys& v) {
    v("model_name_or_path", model_name_or_path, "HF folder or Hub name; null: pretrain (critic: reward_pretrain)");
    v("dtype", dtype,
      "dtype of the forward pass; null: bf16 on a GPU, fp32 on the CPU. actor_infer uses the trainer's; on the CPU it "
      "may be int8 or int4 (weights in 8 or 4 bits)");
    v("disable_gradient_checkpointing", disable_gradient_checkpointing, "keep activations instead of recomputing them",
      may_change());
    v("freeze_module_prefix", freeze_module_prefix, "parameters whose names start with one of these are not trained");
    v.noted({"model_type"}, "the worker's role decides");
    v.noted({"attn_implementation", "flash_attn"}, "roll has one attention, exact over packed sequences");
    v.noted({"num_labels"}, "roll's value heads have one output");
    v.noted({"model_download_type", "use_modelscope"}, "roll never downloads models");
    v.noted({"gradient_checkpointing_use_reentrant", "device_map", "model_config_kwargs", "vision_dp",
             "autocast_adapter_dtype"},
            "it tunes how ROLL loads models");
    v("ulysses_size", ulysses_size, "another spelling of strategy_config.context_parallel_size", within(1, 65536));
    v.noted({"model_revision", "trust_remote_code"}, "roll reads the folder of pretrain as it is");
    v("lora_rank", lora_rank,
      "rank of the adapters that are trained instead of the weights; null: 8 if lora_target is set",
      within(0, 1 << 16));
    v("lora_alpha", lora_alpha, "adapters add alpha / rank x B A; null: 2 x lora_rank", above_to(0, 1'000'000));
    v("lora_target", lora_target,
      "linear layers with adapters: all-linear, or the ends of their names (q_proj,v_proj); null: all-linear if "
      "lora_rank is set");
    v("lora_dropout", lora_dropout,
      "dropout of the adapters' inputs in training; its masks do not depend on the layout", from_below(0, 1));
    v("additional_target", additional_target,
      "modules that are trained in full beside adapters: lm_head, embed_tokens");
    v("use_dora", use_dora, "trains the norms of the weights' rows, too (DoRA)");
    v("use_rslora", use_rslora, "adapters add alpha / sqrt(rank) x B A (rank-stabilised LoRA)");
    v("quantise_base", quantise_base, "int8 or nf4: format of the layers' frozen weights below adapters; null: dtype");
    v.refused({"adapter_name_or_path"},
              "give the folder of adapters as model_name_or_path; training continues from these adapters");
    v.refused({"moe_*"},
              "config.json defines a mixture, and strategy_config.moe_* how its routers are trained; remove it");
    v.refused({"image_*", "video_*"}, "it belongs to vision models, which roll does not support; remove it");
  }
};

}  // namespace roll
