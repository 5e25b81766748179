// Settings that all TRL trainers share, for trl.cpp and trl_dpo.cpp: TRL's ModelConfig (weights, dtype, adapters), and
// optimizer and saving from transformers' TrainingArguments. The macros are ForeignRow entries of a table (table.h).
#pragma once

#include "convert/table.h"

/// Rows of ModelConfig's keys.
#define TRL_MODEL_ROWS                                                                                                 \
  {"torch_dtype", Fate::kCombined}, {"dtype", Fate::kCombined}, {"bf16", Fate::kCombined, "", "true"},                 \
      {"fp16", Fate::kCombined}, {"model_init_kwargs*", Fate::kCombined},                                              \
      {"requires_grad", Fate::kRefused,                                                                                \
       "the script freezes weights; give --requires_grad None after the file if they are not the policy's, else name " \
       "them in freeze_module_prefix"},                                                                                \
      {"quantization_config", Fate::kRefused,                                                                          \
       "this object is known only when the script runs; give --quantization_config None after the file, and for "      \
       "quantised weights with adapters --load_in_4bit true"},                                                         \
      {"attn_implementation", Fate::kAutomatic}, {"use_peft", Fate::kCombined, "", "false"},                           \
      {"peft_config", Fate::kRefused,                                                                                  \
       "this object is known only when the script runs; give --peft_config None after the file, and for adapters "     \
       "--use_peft true with --lora_r, --lora_alpha, --lora_dropout and --lora_target_modules"},                       \
      {"peft_config.bias", Fate::kRefused, "training biases beside adapters is not supported", "none"},                \
      {"peft_config.*", Fate::kRefused,                                                                                \
       "not a supported setting of LoraConfig; give --use_peft false to train all weights"},                           \
      {"lora_r", Fate::kCombined, "", "16"}, {"lora_alpha", Fate::kCombined, "", "32"},                                \
      {"lora_dropout", Fate::kCombined, "", "0.05"}, {"lora_target_modules", Fate::kCombined},                         \
      {"lora_target_parameters", Fate::kCombined}, {"lora_modules_to_save", Fate::kCombined},                          \
      {"lora_task_type", Fate::kNothing}, {"use_rslora", Fate::kCombined, "", "false"},                                \
      {"use_dora", Fate::kCombined, "", "false"}, {"load_in_4bit", Fate::kCombined, "", "false"},                      \
      {"load_in_8bit", Fate::kCombined, "", "false"}, {"bnb_4bit_quant_type", Fate::kCombined, "", "nf4"},             \
      {"use_bnb_nested_quant", Fate::kAutomatic, "scales of blocks are not quantised"}, {                              \
    "bnb_4bit_quant_storage", Fate::kAutomatic                                                                         \
  }

/// Rows of the optimizer's keys.
#define TRL_OPTIMIZER_ROWS                                                                           \
  {"learning_rate", Fate::kCopied, "actor_train.training_args.learning_rate", "1e-6"},               \
      {"weight_decay", Fate::kCopied, "actor_train.training_args.weight_decay", "0.0"},              \
      {"adam_beta1", Fate::kCopied, "actor_train.training_args.adam_beta1"},                         \
      {"adam_beta2", Fate::kCopied, "actor_train.training_args.adam_beta2"},                         \
      {"adam_epsilon", Fate::kCopied, "actor_train.training_args.adam_epsilon"},                     \
      {"max_grad_norm", Fate::kCopied, "max_grad_norm", "1.0"},                                      \
      {"lr_scheduler_type", Fate::kCopied, "actor_train.training_args.lr_scheduler_type", "linear"}, \
      {"warmup_steps", Fate::kCopied, "actor_train.training_args.warmup_steps"},                     \
      {"warmup_ratio", Fate::kCopied, "actor_train.training_args.warmup_ratio"}, {                   \
    "optim", Fate::kCombined                                                                         \
  }

/// Rows of keys for logging, saving and evaluation.
#define TRL_SAVING_ROWS                                                                                        \
  {"logging_steps", Fate::kCopied, "logging_steps", "10"}, {"save_steps", Fate::kCopied, "save_steps", "500"}, \
      {"save_strategy", Fate::kAutomatic, "save_steps decides"},                                               \
      {"save_total_limit", Fate::kCopied, "max_ckpt_to_keep"}, {"eval_steps", Fate::kCopied, "eval_steps"}, {  \
    "eval_strategy", Fate::kAutomatic, "eval_steps decides"                                                    \
  }

namespace roll {

/// Sets the policy's adapters and the quantisation of the frozen weights, with ModelConfig's defaults (rank 16, alpha
/// 32, dropout 0.05) written out. Throws UserError for settings that roll lacks.
void set_trl_adapters(Conversion& c);
/// Sets the dtype of the forward pass for actor_train and for the roles `others`; nothing if it is float32.
void set_trl_dtype(Conversion& c, Roles others);

}  // namespace roll
