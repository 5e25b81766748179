// Recipes with the keys that ROLL's dense ones for LoRA have (rlvr_config_lora.yaml, rlvr_lora_fsdp2.yaml of its
// examples) are valid as they are written.
#include <catch2/catch.hpp>

#include "settings/load_config.h"
#include "settings/recipe.h"

namespace roll {

namespace {

/// What both have.
constexpr const char* kCommon = R"(
hydra: {run: {dir: .}, output_subdir: null}
seed: 1
logging_dir: ./logs
output_dir: ./out
system_envs: {USE_MODELSCOPE: '1'}
checkpoint_config: {type: file_system, output_dir: ./checkpoints}
track_with: tensorboard
tracker_kwargs: {log_dir: ./tensorboard}
num_gpus_per_node: 8
max_steps: 5
logging_steps: 1
eval_steps: 10
resume_from_checkpoint: false
prompt_length: 2048
response_length: 4096
num_return_sequences_in_group: 8
ppo_epochs: 1
adv_estimator: "reinforce"
value_clip: 0.5
reward_clip: 10
advantage_clip: 2.0
dual_clip_loss: true
norm_mean_type: ~
norm_std_type: ~
max_len_mask: true
difficulty_mask: true
difficulty_low_threshold: 0.1
difficulty_high_threshold: 0.95
error_max_len_clip: false
difficulty_loss_weight: false
length_loss_weight: false
add_token_level_kl: false
whiten_advantages: true
pretrain: Qwen/Qwen2.5-7B
reward_pretrain: Qwen/Qwen2.5-7B
validation:
  data_args: {template: qwen2_5, file_name: [data/validation.jsonl]}
  generating_args: {max_new_tokens: "${response_length}", top_p: 0.6, top_k: 50, num_beams: 1, temperature: 0.6, num_return_sequences: 1}
rewards:
  math_rule:
    worker_cls: roll.pipeline.rlvr.rewards.math_rule_reward_worker.MathRuleRewardWorker
    model_args: {model_name_or_path: "${reward_pretrain}"}
    data_args: {template: qwen2_5}
    tag_included: [deepmath_103k]
    world_size: 8
    infer_batch_size: 1
)";

/// Their actor_train, but for what they call the back-end and the adapters.
constexpr const char* kTrained = R"(
  training_args: {learning_rate: 1.0e-5, weight_decay: 0, per_device_train_batch_size: 1, gradient_accumulation_steps: 32, warmup_steps: 20,
                  num_train_epochs: 50}
  data_args: {template: qwen2_5, file_name: [data/train.jsonl], domain_interleave_probs: {math_rule: 1.0}, dataset_dir: data, messages: messages,
              interleave_probs: "1.0", preprocessing_num_workers: 16}
  infer_batch_size: 4
)";

constexpr const char* kSampled = R"(
  generating_args: {max_new_tokens: "${response_length}", top_p: 0.99, top_k: 100, num_beams: 1, temperature: 0.99,
                    num_return_sequences: "${num_return_sequences_in_group}"}
  data_args: {template: qwen2_5}
)";

const std::string kMegatron = std::string(kCommon) + R"(
global_template: qwen2_5
exp_name: lora
save_steps: 500
rollout_batch_size: 32
actor_train:
  model_args: {disable_gradient_checkpointing: false, dtype: bf16, model_type: ~, lora_target: all-linear, lora_rank: 64, lora_alpha: 64}
  strategy_args:
    strategy_name: megatron_train
    strategy_config: {tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1, expert_model_parallel_size: 1,
                      use_distributed_optimizer: true, recompute_granularity: full}
  device_mapping: list(range(0,8)))" +
                              kTrained + R"(
actor_infer:
  model_args: {disable_gradient_checkpointing: true, dtype: bf16, lora_target: "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj",
               lora_rank: 64, lora_alpha: 64}
  strategy_args:
    strategy_name: vllm
    strategy_config: {gpu_memory_utilization: 0.8, block_size: 16, max_model_len: 8192, load_format: auto}
  device_mapping: list(range(0,6))
  infer_batch_size: 2)" + kSampled +
                              R"(
reference:
  model_args: {disable_gradient_checkpointing: true, dtype: bf16, model_type: ~}
  data_args: {template: qwen2_5}
  strategy_args:
    strategy_name: megatron_infer
    strategy_config: {tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1, expert_model_parallel_size: 1}
  device_mapping: list(range(0,8))
  infer_batch_size: 8
)";

const std::string kFsdp = std::string(kCommon) + R"(
exp_name: lora-fsdp
save_steps: 100
rollout_batch_size: 64
lora_target: o_proj,q_proj,k_proj,v_proj
lora_rank: 32
lora_alpha: 32
actor_train:
  model_args: {attn_implementation: fa2, disable_gradient_checkpointing: true, dtype: bf16, lora_target: "${lora_target}", lora_rank: "${lora_rank}",
               lora_alpha: "${lora_alpha}", model_type: ~}
  strategy_args:
    strategy_name: fsdp2_train
    strategy_config: {fsdp_size: 16, param_dtype: bf16, reduce_dtype: float32, reshard_after_forward: true, offload_policy: false}
  device_mapping: list(range(0,16)))" +
                          kTrained + R"(
actor_infer:
  model_args: {attn_implementation: fa2, disable_gradient_checkpointing: true, dtype: bf16, lora_target: "${lora_target}", lora_rank: "${lora_rank}",
               lora_alpha: "${lora_alpha}"}
  strategy_args:
    strategy_name: vllm
    strategy_config: {gpu_memory_utilization: 0.6, enforce_eager: false, block_size: 16, max_model_len: 8000}
  device_mapping: list(range(0,12))
  infer_batch_size: 1)" + kSampled +
                          R"(
reference:
  model_args: {attn_implementation: fa2, disable_gradient_checkpointing: true, dtype: bf16, model_type: ~}
  data_args: {template: qwen2_5}
  strategy_args: {strategy_name: hf_infer, strategy_config: ~}
  device_mapping: list(range(0,16))
  infer_batch_size: 8
)";

CheckedConfig<Config> checked(const std::string& text) {
  return load_config_text(text, "recipe.yaml", {}, {.num_ranks = {}, .offline = true});
}

}  // namespace

TEST_CASE("ROLL's recipe of LoRA under Megatron is valid as it is written", "[train]") {
  const auto found = checked(kMegatron);
  CHECK(found.config.actor_train.model_args.lora_rank == 64);
  CHECK(mentions(found.memory, "actor_train trains LoRA of rank 64, alpha 64, on all linear layers: 161.48 M"));
}

TEST_CASE("ROLL's recipe of LoRA under FSDP is valid as it is written", "[train]") {
  const auto found = checked(kFsdp);
  CHECK(found.config.actor_train.model_args.lora_rank == 32);
  CHECK(mentions(found.memory,
                 "actor_train trains LoRA of rank 32, alpha 32, on o_proj, q_proj, k_proj, v_proj: 20.19 M"));
}

}  // namespace roll
