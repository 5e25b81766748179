// Converts verl's settings of LoRA and of multi-token-prediction heads, for verl.cpp and verl_sft.cpp. LoRA: with FSDP
// they are the keys lora_rank, lora_alpha, ..., passed to PEFT. With Megatron they are the group `lora` (lora.rank,
// ...), with other defaults and module names.
#pragma once

#include "convert/table.h"

#define VERL_ADAPTER_FOLDER(model) \
  Fate::kRefused, "to start from adapters, give their folder as " model "path after the file, and this key as None"

/// ForeignRow entries (table.h) for the keys that begin with `model`, a string such as "actor_rollout_ref.model.".
#define VERL_ADAPTER_ROWS(model)                                                                                       \
  {model "lora_rank", Fate::kCombined, "", "0"}, {model "lora_alpha", Fate::kCombined, "", "16"},                      \
      {model "target_modules", Fate::kCombined, "", "all-linear"}, {model "exclude_modules", Fate::kCombined},         \
      {model "lora_adapter_path", VERL_ADAPTER_FOLDER(model)}, {model "lora.rank", Fate::kCombined, "", "0"},          \
      {model "lora.type", Fate::kCombined, "", "lora"}, {model "lora.alpha", Fate::kCombined, "", "32"},               \
      {model "lora.dropout", Fate::kCombined, "", "0.0"}, {model "lora.dropout_position", Fate::kCombined, "", "pre"}, \
      {model "lora.target_modules", Fate::kCombined, "", "[linear_qkv, linear_proj, linear_fc1, linear_fc2]"},         \
      {model "lora.exclude_modules", Fate::kCombined}, {model "lora.adapter_path", VERL_ADAPTER_FOLDER(model)},        \
      {model "lora.freeze_*", Fate::kNothing, "text only"},                                                            \
      {model "lora.lora_A_init_method", Fate::kAutomatic, "A starts uniform, like kaiming"},                           \
      {model "lora.lora_B_init_method", Fate::kRefused, "adapters that do not start at 0 are not supported", "zero"},  \
  {                                                                                                                    \
    model "lora.*", Fate::kAutomatic, "adapters are float32 and start at 0"                                            \
  }

#define VERL_MTP_ROWS(model)                                                                 \
  {model "mtp.enable", Fate::kCombined}, {model "mtp.enable_train", Fate::kCombined},        \
      {model "mtp.detach_encoder", Fate::kCombined},                                         \
      {model "mtp.mtp_loss_scaling_factor", Fate::kCombined, "", "0.1"}, {                   \
    model "mtp.*", Fate::kNothing, "the sampler guesses from earlier text, without the head" \
  }

namespace roll {

/// Sets the training of the role's multi-token-prediction head from the keys that begin with `model`, as in the macro.
void set_verl_mtp(Conversion& c, const std::string& model, const char* role);

/// Sets the adapters of roll's role `role` from the keys that begin with `model`, as in the macro. Throws UserError for
/// settings that roll lacks.
void set_verl_adapters(Conversion& c, const std::string& model, const char* role);

}  // namespace roll
