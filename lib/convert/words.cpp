#include "convert/words.h"

#include <algorithm>
#include <string_view>

#include "base/nearest.h"
#include "config/read_context.h"
#include "convert/table.h"

namespace roll {

namespace {

/// Row of words with roll's keys; lists are separated by blanks.
struct WordRow {
  const char* words;
  const char* keys;
  const char* how = "";
};

constexpr WordRow kRows[] = {
    {"lr actor_lr policy_lr", "actor_train.training_args.learning_rate"},
    {"critic_lr value_lr vf_lr", "critic.training_args.learning_rate"},
    {"optim optimizer", "actor_train.training_args.optimizer", "adamw or muon"},
    {"scheduler lr_scheduler lr_schedule", "actor_train.training_args.lr_scheduler_type"},
    {"warmup num_warmup_steps lr_warmup_steps", "actor_train.training_args.warmup_steps"},
    {"warmup_proportion lr_warmup_ratio lr_warmup_steps_ratio", "actor_train.training_args.warmup_ratio"},
    {"clip_grad grad_clip gradient_clipping max_norm clip_grad_norm", "max_grad_norm"},

    {"beta kl_beta beta_kl", "kl_loss_coef", "with use_kl_loss: true"},
    {"kl_coef kl_coeff kl_coefficient init_kl_coeff kl_ctrl", "init_kl_coef kl_loss_coef",
     "in the reward with add_token_level_kl: true, or in the loss with use_kl_loss: true"},
    {"use_kl_in_reward", "add_token_level_kl"},
    {"kl_loss_type kl_loss_estimator", "kl_loss_penalty"},
    {"kl_estimator kl_type", "kl_penalty kl_loss_penalty", "in the reward, or in the loss"},
    {"entropy_coef entropy_coeff ent_coef entropy_bonus", "entropy_loss_coef"},
    {"epsilon eps clip_eps clip_epsilon cliprange clip_range clip_ratio eps_clip ppo_clip", "pg_clip"},
    {"epsilon_low clip_ratio_low cliprange_low clip_low", "pg_clip_low", "with use_pg_clip_range: true"},
    {"epsilon_high clip_ratio_high cliprange_high clip_high eps_clip_high", "pg_clip_high",
     "with use_pg_clip_range: true"},
    {"clip_ratio_c dual_clip eps_clip_c delta", "dual_clip_c", "with dual_clip_loss: true"},
    {"cliprange_value vf_clip vf_clip_param", "value_clip"},
    {"vf_coef value_loss_coef", "critic.training_args.learning_rate",
     "the critic is a separate model with its own learning rate"},
    {"loss_type", "loss_agg_mode actor_train.pg_variant", "how token losses are averaged, and which loss they are"},
    {"loss_mode policy_loss policy_loss_type", "actor_train.pg_variant"},
    {"importance_sampling_level", "importance_sampling"},
    {"advantage_estimator adv advantage algorithm algo", "adv_estimator", "configs/algorithms has a file for each"},
    {"scale_rewards", "norm_std_type", "and adv_estimator: grpo divides by the group's deviation"},
    {"lam lamda lambda gae_lambda", "lambd"},
    {"discount discount_factor", "gamma"},
    {"normalize_advantages whiten", "whiten_advantages"},

    {"num_generations group_size n_samples num_samples samples_per_prompt num_return_sequences_per_prompt rollout_n",
     "num_return_sequences_in_group"},
    {"batch_size", "rollout_batch_size actor_train.training_args.train_batch_size",
     "prompts of a step, or sequences of an update"},
    {"mini_batch_size ppo_mini_batch_size global_batch_size", "actor_train.training_args.train_batch_size",
     "in sequences"},
    {"micro_batch_size micro_train_batch_size train_micro_batch_size train_micro_batch_size_per_gpu "
     "ppo_micro_batch_size ppo_micro_batch_size_per_gpu",
     "actor_train.training_args.per_device_train_batch_size", "in sequences"},
    {"grad_accum accumulate_grad_batches gradient_accumulation grad_accumulation_steps",
     "actor_train.training_args.gradient_accumulation_steps"},
    {"num_iterations", "ppo_epochs"},
    {"epochs num_epochs total_epochs max_epochs num_episodes", "num_train_epochs ppo_epochs",
     "passes over the rows, or over a step"},
    {"steps num_steps total_steps train_steps total_training_steps num_rollout", "max_steps"},
    {"max_prompt_len prompt_max_len", "prompt_length"},
    {"max_response_len max_completion_len max_tokens max_length max_len generate_max_len max_gen_len",
     "response_length"},
    {"max_seq_len max_seq_length context_length max_context_len", "sequence_length"},

    {"model model_path model_name base_model policy_model actor_model ckpt_path checkpoint_path", "pretrain"},
    {"ref_model reference_model ref ref_model_path", "reference.model_args.model_name_or_path"},
    {"critic_model critic_model_path value_model", "reward_pretrain"},
    {"bfloat16 float16 half float32 precision mixed_precision torch_dtype bf16 fp16 fp32",
     "actor_train.model_args.dtype", "one of bf16, fp16, fp32"},
    {"gradient_checkpointing activation_checkpointing", "actor_train.model_args.disable_gradient_checkpointing",
     "with the opposite value"},
    {"lora_r use_lora use_peft peft peft_config", "actor_train.model_args.lora_rank"},
    {"target_modules lora_target_modules", "actor_train.model_args.lora_target"},
    {"modules_to_save lora_modules_to_save", "actor_train.model_args.additional_target"},
    {"load_in_4bit load_in_8bit", "actor_train.model_args.quantise_base", "nf4 or int8, beside adapters"},
    {"dataset dataset_path train_file train_files train_data data_path data prompt_data train_dataset dataset_name",
     "actor_train.data_args.file_name"},
    {"val_file val_files val_data eval_file eval_files eval_data eval_dataset test_file test_files validation_file",
     "validation.data_args.file_name"},
    {"chat_template prompt_template", "global_template"},
    {"reward_fn reward_func reward_funcs reward_function reward_functions rm_type", "rewards.<name>.type"},
    {"temp sampling_temperature", "actor_infer.generating_args.temperature"},

    {"save_freq save_interval save_every checkpoint_interval", "save_steps"},
    {"eval_freq test_freq eval_interval eval_every", "eval_steps"},
    {"log_interval log_freq log_every", "logging_steps"},
    {"save_total_limit max_checkpoints max_ckpt_num", "max_ckpt_to_keep"},
    {"run_name experiment_name", "exp_name"},
    {"save_path out_dir save_dir checkpoint_dir ckpt_dir default_local_dir", "output_dir"},
    {"resume resume_from resume_mode", "resume_from_checkpoint", "or --resume after the command"},
    {"logger report_to use_wandb use_tensorboard wandb", "track_with"},
    {"tp tp_size tensor_parallel tensor_parallel_degree",
     "actor_train.strategy_args.strategy_config.tensor_model_parallel_size"},
    {"cp cp_size sp_size sequence_parallel_size ulysses_sequence_parallel_size ring_attn_size",
     "actor_train.strategy_args.strategy_config.context_parallel_size"},
    {"num_gpus n_gpus gpus n_gpus_per_node num_processes nproc_per_node num_workers", "actor_train.device_mapping",
     "or -n after the command"},
    {"max_num_seqs", "max_running_requests"},
    {"use_vllm", "", "the sampler is built in"},
};

std::vector<std::string> split_blanks(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t from = 0; from < text.size();) {
    const size_t blank = std::min(text.find(' ', from), text.size());
    if (blank > from) parts.emplace_back(text.substr(from, blank - from));
    from = blank + 1;
  }
  return parts;
}

std::string plain_word(std::string_view word) {
  std::string plain = lower_ascii(word);
  std::ranges::replace(plain, '-', '_');
  return plain;
}

/// Returns true if a trainer's key ends with `word`; a bare "*" does not match.
bool ends_with_word(const char* foreign_key, const std::string& word) {
  const std::string key = plain_word(foreign_key), last = key.substr(key.rfind('.') + 1);
  return last != "*" && matches(word, last.c_str());
}

/// Replaces the domain name: converted configurations have one domain, math_rule.
std::string with_domain_placeholder(const std::string& path) {
  constexpr std::string_view kDomain = "rewards.math_rule.";
  return path.starts_with(kDomain) ? "rewards.<name>." + path.substr(kDomain.size()) : path;
}

std::optional<ForeignWord> suggest_from_row(const ForeignRow& row) {
  switch (row.fate) {
    case Fate::kCopied:
      return ForeignWord{{with_domain_placeholder(row.our_key)}, ""};
    case Fate::kCombined:
      return std::nullopt;
    case Fate::kAutomatic:
    case Fate::kNothing:
    case Fate::kUnsupported:
    case Fate::kRefused:
      break;
  }
  return ForeignWord{{}, *row.our_key ? row.our_key : "it has no counterpart"};
}

}  // namespace

std::optional<ForeignWord> foreign_word(std::string_view word) {
  const std::string plain = plain_word(word);
  for (const WordRow& row : kRows)
    if (std::ranges::count(split_blanks(row.words), plain) > 0) return ForeignWord{split_blanks(row.keys), row.how};
  std::optional<ForeignWord> found;
  for (const ForeignTrainer& trainer : rlvr_trainers())
    for (const ForeignRow& row : trainer.rows)
      if (ends_with_word(row.foreign_key, plain) && (!found || found->keys.empty()))  // prefer a key to a reason
        if (const auto suggestion = suggest_from_row(row); suggestion && (!found || !suggestion->keys.empty()))
          found = suggestion;
  return found;
}

std::vector<std::string> listed_foreign_words() {
  std::vector<std::string> all;
  for (const WordRow& row : kRows)
    for (std::string& word : split_blanks(row.words)) all.push_back(std::move(word));
  for (const ForeignTrainer& trainer : rlvr_trainers())
    for (const ForeignRow& row : trainer.rows) {
      const std::string key = plain_word(row.foreign_key);
      if (!key.ends_with('*')) all.push_back(key.substr(key.rfind('.') + 1));
    }
  return all;
}

}  // namespace roll
