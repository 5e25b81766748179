// Table of OpenRLHF's train_ppo_ray: flags with underscores (--rollout_batch_size 1024). rollout_batch_size counts
// prompts, train_batch_size samples. Newer flags have groups (--rollout.batch_size) and are renamed to these.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "convert/adapters.h"
#include "convert/openrlhf_objective.h"
#include "convert/table.h"

namespace roll {

namespace openrlhf {
namespace {

using enum Fate;

/// Returns the second number of "-x x", the bounds of a symmetric range.
std::string second_word(const std::string& value) {
  return value.substr(value.rfind(' ') + 1);
}

constexpr const char* kMemory = "memory is managed automatically; `offload: true` moves idle models to the host";
constexpr const char* kEngine = "the sampler is built in";

constexpr ForeignRow kRows[] = {
    {"pretrain", kCopied, "pretrain", "set-me/to-a-model-folder"},
    {"critic_pretrain", kCopied, "reward_pretrain"},
    {"reward_pretrain", kCombined},
    {"remote_rm_url", kCombined},
    {"agent_func_path", kRefused,
     "agents are not converted; set up several turns with train_env_manager (configs/agentic.md)"},
    {"data.image_key", kNothing, "no effect without data.max_images_per_prompt"},
    {"data.max_images_per_prompt", kRefused, "images are not supported; roll reads text only"},
    {"actor.freeze_visual_encoder", kRefused, "images are not supported; roll reads text only"},
    {"actor.optim", kRefused, "not a supported optimizer; convert with AdamW (and see training_args.optimizer: muon)",
     "adam"},
    {"actor.adam.eps", kCopied, "actor_train.training_args.adam_epsilon"},
    {"data.max_len", kCombined},
    {"actor.muon.*", kNothing},
    {"critic.muon.*", kNothing},
    {"min_lr_ratio", kCombined, "", "0.1"},
    {"stop_properly_penalty_coef", kRefused,
     "this penalty on truncated responses is not supported; use overlong_buffer"},
    {"enable_ema", kRefused, "an average of the weights (EMA) is not supported"},
    {"ema_beta", kNothing, "no effect without enable_ema"},
    {"vllm_is_correction_type", kCombined, "", "tis"},
    {"tensorboard_dir", kAutomatic, "track_with; curves lie in output_dir"},
    {"critic.*", kCombined},
    {"prompt_data", kCopied, "actor_train.data_args.file_name", "", listed},
    {"eval_dataset", kCopied, "validation.data_args.file_name", "", listed},
    {"eval_temperature", kCopied, "validation.generating_args.temperature", "0.6"},
    {"eval_n_samples_per_prompt", kCopied, "validation.generating_args.num_return_sequences", "4"},
    {"eval_steps", kCopied, "eval_steps", "0", steps_or_never},
    {"save_steps", kCopied, "save_steps", "0", steps_or_never},
    {"save_path", kCopied, "output_dir"},
    {"ckpt_path", kAutomatic, "checkpoints are in output_dir"},
    {"load_checkpoint", kAutomatic, "roll train --resume"},
    {"max_ckpt_num", kCopied, "max_ckpt_to_keep"},
    {"logging_steps", kCopied, "logging_steps"},
    {"seed", kCopied, "seed", "42"},
    {"full_determinism", kCopied, "deterministic"},
    {"input_key", kCombined, "", "input"},
    {"label_key", kCombined},
    {"input_template", kUnsupported, "data_args.template names a chat template"},
    {"apply_chat_template", kCombined, "", "false"},
    {"prompt_split", kNothing},
    {"eval_split", kNothing},
    {"prompt_data_probs", kUnsupported, "write them as domain_interleave_probs"},
    {"max_samples", kNothing},
    {"prompt_max_len", kCopied, "prompt_length", "1024"},
    {"generate_max_len", kCopied, "response_length", "1024"},
    {"rollout_batch_size", kCopied, "rollout_batch_size", "1024"},
    {"n_samples_per_prompt", kCopied, "num_return_sequences_in_group", "1"},
    {"train_batch_size", kCombined, "", "128"},
    {"micro_train_batch_size", kCombined, "", "4"},
    {"micro_rollout_batch_size", kAutomatic, "infer_batch_size, or packing"},
    {"max_epochs", kCopied, "ppo_epochs", "1"},
    {"num_episodes", kCopied, "num_train_epochs", "1"},
    {"temperature", kCopied, "actor_infer.generating_args.temperature", "1.0"},
    {"top_p", kCopied, "actor_infer.generating_args.top_p", "1.0"},
    {"top_k", kCopied, "actor_infer.generating_args.top_k", "-1"},
    {"use_dynamic_batch", kCombined, "", "false"},
    {"train_max_tokens_per_gpu", kCombined, "", "16384"},
    {"rollout_max_tokens_per_gpu", kCombined},
    {"packing_samples", kAutomatic, "there is no padding"},
    {"actor_learning_rate", kCopied, "actor_train.training_args.learning_rate", "1e-6"},
    {"critic_learning_rate", kCopied, "critic.training_args.learning_rate", "9e-6"},
    {"lr_warmup_ratio", kCopied, "actor_train.training_args.warmup_ratio", "0.03"},
    {"lr_scheduler", kCombined, "", "cosine_with_min_lr"},
    {"l2", kCopied, "actor_train.training_args.weight_decay", "0.0"},
    {"adam_betas", kCombined, "", "0.9 0.95"},
    {"max_norm", kCopied, "max_grad_norm", "1.0"},
    {"gradient_checkpointing", kCombined, "", "false"},
    {"gamma", kCombined, "", "1.0"},
    {"lambd", kCopied, "lambd", "1.0"},
    {"eps_clip", kCombined, "", "0.2"},
    {"eps_clip_low_high", kCombined},
    {"dual_clip", kCombined},
    {"value_clip", kCopied, "value_clip", "0.5"},
    {"reward_clip_range", kCombined, "", "-10 10"},
    {"normalize_reward", kCombined, "", "false"},
    {"init_kl_coef", kCombined, "", "0.01"},
    {"kl_target", kCombined},
    {"kl_horizon", kCombined, "", "10000"},
    {"kl_estimator", kCombined, "", "k1"},
    {"use_kl_loss", kCombined, "", "false"},
    {"entropy_loss_coef", kCombined},
    {"policy_loss_type", kCombined, "", "ppo"},
    {"advantage_estimator", kCombined, "", "gae"},
    {"no_advantage_std_norm", kCombined, "", "false"},
    {"overlong_buffer_len", kCombined},
    {"overlong_penalty_factor", kCombined, "", "1"},
    {"dynamic_filtering", kCombined, "", "false"},
    {"dynamic_filtering_reward_range", kCombined, "", "0 1"},
    {"freezing_actor_steps", kCopied, "critic_warmup", "", steps_or_never},
    {"ptx_coef", kNothing, "no effect without pretrain_data"},
    {"pretrain_data", kRefused, "a language-model loss beside the rewards is not supported"},
    {"aux_loss_coef", kRefused, "transformers' load-balancing loss is not supported; moe_aux_loss_coeff is Megatron's"},
    {"enable_vllm_is_correction", kCombined, "", "false"},
    {"vllm_is_truncated_threshold", kCombined, "", "0.5 5.0"},
    {"actor_num_nodes", kCombined, "", "1"},
    {"actor_num_gpus_per_node", kCombined, "", "8"},
    {"ref_num_*", kAutomatic, "roles share the policy's devices; device_mapping changes it"},
    {"critic_num_*", kAutomatic, "roles share the policy's devices; device_mapping changes it"},
    {"reward_num_*", kAutomatic, "roles share the policy's devices; device_mapping changes it"},
    {"colocate_critic_reward", kAutomatic, "roles share the policy's devices"},
    {"colocate_*", kAutomatic, "roles share the policy's devices"},
    {"vllm_tensor_parallel_size", kCopied, "actor_infer.strategy_args.strategy_config.tensor_parallel_size", "1"},
    {"vllm_gpu_memory_utilization", kCopied, "actor_infer.strategy_args.strategy_config.gpu_memory_utilization"},
    {"vllm_*", kAutomatic, kEngine},
    {"enforce_eager", kAutomatic, kEngine},
    {"enable_prefix_caching", kAutomatic, "common beginnings of prompts are computed once"},
    {"ds_tensor_parallel_size", kCombined, "", "1"},
    {"ring_attn_size", kCombined, "", "1"},
    {"ring_head_stride", kAutomatic},
    {"deepspeed_enable_sleep", kAutomatic, kMemory},
    {"zero_stage", kCombined},
    {"zpg", kAutomatic, kMemory},
    {"adam_offload", kAutomatic, kMemory},
    {"ref_reward_offload", kAutomatic, kMemory},
    {"offload", kAutomatic, kMemory},
    {"bf16", kAutomatic, "bf16 on a GPU; model_args.dtype changes it"},
    {"param_dtype", kAutomatic, "bf16 on a GPU; model_args.dtype changes it"},
    {"flash_attn", kAutomatic},
    {"attn_implementation", kAutomatic},
    {"load_in_4bit", kCombined, "", "false"},
    {"lora_rank", kCombined, "", "0"},
    {"lora_alpha", kCombined, "", "16"},
    {"lora_dropout", kCombined, "", "0"},
    {"target_modules", kCombined, "", "all-linear"},
    {"async_train", kUnsupported, "async_generation_ratio, with devices that only sample"},
    {"use_wandb", kAutomatic, kCurves},
    {"wandb_*", kNothing},
    {"use_tensorboard", kAutomatic, "track_with"},
    {"save_hf_ckpt", kAutomatic, "roll export"},
    {"disable_ds_ckpt", kNothing},
};

struct Renamed {
  std::string_view new_name;
  const char* old_name;
};
/// Groups whose flags keep their names: "data.input_key" was "input_key".
constexpr std::array<std::string_view, 9> kUnchangedGroups{"data.", "ds.",     "train.",  "rollout.", "logger.",
                                                           "algo.", "reward.", "critic.", "actor."};
constexpr Renamed kRenamed[] = {
    {"actor.model_name_or_path", "pretrain"},
    {"critic.model_name_or_path", "critic_pretrain"},
    {"reward.model_name_or_path", "reward_pretrain"},
    {"reward.remote_url", "remote_rm_url"},
    {"reward.clip_range", "reward_clip_range"},
    {"reward.normalize_enable", "normalize_reward"},
    {"actor.adam.lr", "actor_learning_rate"},
    {"actor.adam.betas", "adam_betas"},
    {"actor.adam.weight_decay", "l2"},
    {"critic.adam.lr", "critic_learning_rate"},
    {"critic.value_clip", "value_clip"},
    {"critic.freezing_steps", "freezing_actor_steps"},
    {"actor.entropy_coef", "entropy_loss_coef"},
    {"actor.gradient_checkpointing_enable", "gradient_checkpointing"},
    {"actor.num_nodes", "actor_num_nodes"},
    {"actor.num_gpus_per_node", "actor_num_gpus_per_node"},
    {"ref.num_nodes", "ref_num_nodes"},
    {"ref.num_gpus_per_node", "ref_num_gpus_per_node"},
    {"critic.num_nodes", "critic_num_nodes"},
    {"critic.num_gpus_per_node", "critic_num_gpus_per_node"},
    {"reward.num_nodes", "reward_num_nodes"},
    {"reward.num_gpus_per_node", "reward_num_gpus_per_node"},
    {"ref.offload", "ref_reward_offload"},
    {"algo.advantage.estimator", "advantage_estimator"},
    {"algo.advantage.gamma", "gamma"},
    {"algo.advantage.lambd", "lambd"},
    {"algo.advantage.no_std_norm", "no_advantage_std_norm"},
    {"algo.advantage.is_correction_enable", "enable_vllm_is_correction"},
    {"algo.advantage.is_correction_threshold", "vllm_is_truncated_threshold"},
    {"algo.advantage.is_correction_type", "vllm_is_correction_type"},
    {"algo.kl.init_coef", "init_kl_coef"},
    {"algo.kl.target", "kl_target"},
    {"algo.kl.horizon", "kl_horizon"},
    {"algo.kl.estimator", "kl_estimator"},
    {"algo.kl.use_loss", "use_kl_loss"},
    {"algo.dynamic_filtering_enable", "dynamic_filtering"},
    {"algo.dynamic_filtering_range", "dynamic_filtering_reward_range"},
    {"rollout.batch_size", "rollout_batch_size"},
    {"rollout.micro_batch_size", "micro_rollout_batch_size"},
    {"rollout.max_new_tokens", "generate_max_len"},
    {"rollout.max_tokens_per_gpu", "rollout_max_tokens_per_gpu"},
    {"train.batch_size", "train_batch_size"},
    {"train.micro_batch_size", "micro_train_batch_size"},
    {"train.max_tokens_per_gpu", "train_max_tokens_per_gpu"},
    {"train.dynamic_batch_enable", "use_dynamic_batch"},
    {"train.full_determinism_enable", "full_determinism"},
    {"train.async_enable", "async_train"},
    {"train.partial_rollout_enable", "async_train"},
    {"train.colocate_all", "colocate_all_models"},
    {"data.prompt_dataset", "prompt_data"},
    {"data.prompt_probs", "prompt_data_probs"},
    {"eval.dataset", "eval_dataset"},
    {"eval.steps", "eval_steps"},
    {"eval.split", "eval_split"},
    {"eval.temperature", "eval_temperature"},
    {"eval.n_samples_per_prompt", "eval_n_samples_per_prompt"},
    {"ckpt.output_dir", "save_path"},
    {"ckpt.path", "ckpt_path"},
    {"ckpt.save_hf", "save_hf_ckpt"},
    {"ckpt.load_enable", "load_checkpoint"},
    {"ckpt.max_num", "max_ckpt_num"},
    {"ckpt.save_steps", "save_steps"},
    {"ckpt.disable_ds", "disable_ds_ckpt"},
    {"ds.lora.rank", "lora_rank"},
    {"ds.lora.alpha", "lora_alpha"},
    {"ds.lora.dropout", "lora_dropout"},
    {"ds.lora.target_modules", "target_modules"},
    {"ds.ring_attn_head_stride", "ring_head_stride"},
    {"ds.tensor_parallel_size", "ds_tensor_parallel_size"},
    {"ds.enable_sleep", "deepspeed_enable_sleep"},
    {"vllm.enforce_eager", "enforce_eager"},
    {"vllm.enable_prefix_caching", "enable_prefix_caching"},
    {"vllm.tensor_parallel_size", "vllm_tensor_parallel_size"},
    {"vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization"},
    {"logger.wandb.key", "use_wandb"},
    {"logger.tensorboard_dir", "tensorboard_dir"},
};

/// Returns the row named `rest`, or nullptr.
const char* find_old_key(std::string_view rest) {
  for (const ForeignRow& row : kRows)
    if (rest == row.foreign_key) return row.foreign_key;
  return nullptr;
}

const char* find_older_name(const std::string& key) {
  for (const Renamed& name : kRenamed)
    if (key == name.new_name) return name.old_name;
  if (key.starts_with("vllm.")) return "vllm_*";
  if (key.starts_with("logger.wandb.")) return "wandb_*";
  for (const std::string_view group : kUnchangedGroups)
    if (key.starts_with(group) && find_row(kRows, key) == nullptr)
      return find_old_key(std::string_view(key).substr(group.size()));
  return nullptr;
}

/// The newer flags limit prompt plus response; a separate limit on the response is optional.
void combine_lengths(Conversion& c) {
  if (!c.is_set("data.max_len")) return;
  const int64_t total = c.count("data.max_len");
  const int64_t response = c.is_set("generate_max_len") ? c.count("generate_max_len") : total / 2;
  if (response >= total)
    throw c.refused("data.max_len", "must be above generate_max_len, to leave room for the prompt");
  c.set("prompt_length", fmt::format("{}", total - response),
        c.origin({"data.max_len", "generate_max_len"}) + " less the response");
  c.set("response_length", fmt::format("{}", response), c.origin({"generate_max_len", "data.max_len"}));
  if (!c.is_set("generate_max_len"))
    c.differs(
        "lengths: data.max_len limits prompt plus response; roll limits each, set here to half: set prompt_length "
        "and response_length");
}

void combine_batches(Conversion& c) {
  c.set_num_ranks("actor_num_gpus_per_node", "actor_num_nodes");
  set_devices(c, {"actor_num_gpus_per_node", "actor_num_nodes"});
  for (const char* role : {"actor_train", "reference", "critic"}) {
    const std::string layout = std::string(role) + ".strategy_args.strategy_config.";
    c.set_from(layout + "tensor_model_parallel_size", "ds_tensor_parallel_size");
    c.set_from(layout + "context_parallel_size", "ring_attn_size");
  }
  set_zero_stage(c, "zero_stage", {"actor_train", "critic"});
  const bool packs = c.is_true("use_dynamic_batch");
  for (const char* role : {"actor_train", "critic"})
    set_updates(c, {role, c.count("train_batch_size"), c.origin("train_batch_size") + ", which counts samples",
                    packs ? 1 : c.count("micro_train_batch_size"),
                    c.count("ds_tensor_parallel_size") * c.count("ring_attn_size")});
  constexpr const char *kTrain = "train_max_tokens_per_gpu", *kForward = "rollout_max_tokens_per_gpu";
  if (packs)
    set_packing(c, {.train = c.count(kTrain),
                    .forward = c.count(c.text(kForward).empty() ? kTrain : kForward),
                    .ranks = c.count("ds_tensor_parallel_size") * c.count("ring_attn_size"),
                    .origin = c.origin(kTrain)});
}

/// The mean and deviation come from the reward model's config.json; without one the critic starts from the policy and
/// has none.
void refuse_normalised_rewards(const Conversion& c) {
  const bool has_model = c.is_set("remote_rm_url") ? c.is_set("critic_pretrain") : c.is_set("reward_pretrain");
  if (c.is_true("normalize_reward") && has_model)
    throw c.refused("normalize_reward", "rewards normalised with the reward model's mean are not supported");
}

void combine_openrlhf(Conversion& c) {
  refuse_other_models(c, "pretrain");
  refuse_normalised_rewards(c);
  combine_lengths(c);
  combine_openrlhf_objective(c);
  combine_batches(c);
  // In OpenRLHF, policy and critic have the same adapters.
  set_adapters(c, {"actor_train", "critic"},
               {"lora_rank", "lora_alpha", "target_modules", "lora_dropout", "load_in_4bit"},
               asks_for_rank(c, "lora_rank"));
  const std::string betas = c.text("adam_betas");
  for (const char* role : {"actor_train", "critic"}) {
    c.set(std::string(role) + ".training_args.adam_beta1", betas.substr(0, betas.find(' ')), c.origin("adam_betas"));
    c.set(std::string(role) + ".training_args.adam_beta2", second_word(betas), c.origin("adam_betas"));
    c.set(std::string(role) + ".model_args.disable_gradient_checkpointing", negated(c.text("gradient_checkpointing")),
          c.origin("gradient_checkpointing"));
  }
  if (!c.text("overlong_buffer_len").empty()) {
    c.set("rewards.math_rule.overlong_buffer.enable", "true", c.origin("overlong_buffer_len"));
    c.set_from("rewards.math_rule.overlong_buffer.len", "overlong_buffer_len");
    c.set_from("rewards.math_rule.overlong_buffer.penalty_factor", "overlong_penalty_factor");
  }
  set_columns(c, "input_key", "apply_chat_template", "label_key");
  set_data(c, {"eval_temperature", "top_p", "top_k", "eval_n_samples_per_prompt"});
  const std::string reward_source = c.text("remote_rm_url");
  if (!reward_source.empty() && !reward_source.ends_with(".py"))
    throw c.refused("remote_rm_url",
                    "a reward server is not supported; call it from a function in a .py file, and give that file");
  const bool has_reward_model = reward_source.empty() && !c.text("reward_pretrain").empty();
  set_reward(c, has_reward_model ? "reward_pretrain" : nullptr,
             reward_source.empty() ? "" : reward_source + ":reward_func");
  set_roles(c);
}

}  // namespace
}  // namespace openrlhf

const ForeignTrainer& openrlhf_trainer() {
  static const ForeignTrainer trainer{"openrlhf", "train", openrlhf::kRows, openrlhf::combine_openrlhf,
                                      openrlhf::find_older_name};
  return trainer;
}

}  // namespace roll
