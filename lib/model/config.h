// Keys that choose a model and how it is held.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "config/range.h"

namespace roll {

/// Numbers of a forward pass. kInt8: of the weights that a sampler on the CPU reads; no tensor of a model is of it.
enum class Dtype { kFp32, kBf16, kFp16, kInt8 };
constexpr auto names_of(Dtype) {
  return std::to_array<Named<Dtype>>({{Dtype::kFp32, "fp32"},
                                      {Dtype::kBf16, "bf16"},
                                      {Dtype::kFp16, "fp16"},
                                      {Dtype::kFp32, "float32"},
                                      {Dtype::kBf16, "bfloat16"},
                                      {Dtype::kFp16, "float16"},
                                      {Dtype::kInt8, "int8"}});
}

struct ModelArgs {
  std::optional<std::string> model_name_or_path;
  std::optional<Dtype> dtype;
  bool disable_gradient_checkpointing = false;
  std::vector<std::string> freeze_module_prefix;
  std::optional<int64_t> ulysses_size;

  /// Whether a sampler reads weights of 8 bits.
  bool reads_int8() const { return dtype == Dtype::kInt8; }

  template <class V>
  void fields(V& v) {
    v("model_name_or_path", model_name_or_path, "HF folder or Hub name; null: pretrain (critic: reward_pretrain)");
    v("dtype", dtype,
      "numbers of the forward pass; null: bf16 on a GPU, fp32 on the CPU. actor_infer has the trainer's, and on the "
      "CPU may "
      "read weights of 8 bits: int8");
    v("disable_gradient_checkpointing", disable_gradient_checkpointing, "keep activations instead of recomputing them");
    v("freeze_module_prefix", freeze_module_prefix, "parameters whose names start so are not trained");
    v.noted({"model_type"}, "the worker's own role decides");
    v.noted({"attn_implementation", "flash_attn"}, "there is one attention, exact over packed sequences");
    v.noted({"num_labels"}, "a value head has one output");
    v.noted({"model_download_type", "use_modelscope"}, "models are never downloaded by this program");
    v.noted({"gradient_checkpointing_use_reentrant", "device_map", "model_config_kwargs", "vision_dp",
             "autocast_adapter_dtype"},
            "it tunes ROLL's own loading of models");
    v("ulysses_size", ulysses_size, "taken as strategy_config.context_parallel_size", within(1, 65536));
    v.noted({"model_revision", "trust_remote_code"}, "the folder of pretrain is read as it is");
    v.noted({"lora_alpha", "lora_dropout", "additional_target"}, "it only matters with lora_rank and lora_target");
    v.refused({"lora_rank", "lora_target", "adapter_name_or_path"},
              "needs LoRA, which this version does not have; remove it, and all weights are trained");
    v.refused({"moe_*"}, "needs a mixture-of-experts model, which this version does not have; remove it");
    v.refused({"image_*", "video_*"}, "it belongs to vision models, which this version does not have; remove it");
  }
};

}  // namespace roll
