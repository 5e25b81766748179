// Table of verl: ppo_trainer.yaml and Hydra's overrides (data.train_batch_size=1024 ...). verl's batches count prompts.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "convert/table.h"
#include "convert/verl_adapters.h"
#include "convert/verl_correction.h"
#include "convert/verl_distillation.h"
#include "convert/verl_gdpo.h"
#include "convert/verl_layout.h"
#include "convert/verl_objective.h"

namespace roll {

namespace verl {
namespace {

#define ACTOR "actor_rollout_ref.actor."
#define ROLLOUT "actor_rollout_ref.rollout."
#define REF "actor_rollout_ref.ref."
#define MODEL "actor_rollout_ref.model."

std::string not_negative(const std::string& value) {
  return value.starts_with("-") ? "0" : value;
}

constexpr const char* kMemory = "memory is managed automatically; `offload: true` moves idle models to the host";
constexpr const char* kSampler = "the sampler is built in";
constexpr const char* kPython = "Python code cannot be converted";
using enum Fate;

constexpr ForeignRow kRows[] = {
    {"data.train_files", kCopied, "actor_train.data_args.file_name", "", listed},
    {"data.val_files", kCopied, "validation.data_args.file_name", "", listed},
    {"data.train_batch_size", kCopied, "rollout_batch_size", "1024"},
    {"data.max_prompt_length", kCopied, "prompt_length", "512"},
    {"data.max_response_length", kCopied, "response_length", "512"},
    {"data.prompt_key", kCopied, "actor_train.data_args.messages", "prompt"},
    {"data.reward_fn_key", kCopied, "actor_train.data_args.tag", "data_source"},
    {"data.seed", kCombined},
    {"data.shuffle", kAutomatic, "prompts are always shuffled, by `seed`"},
    {"data.filter_overlong_prompts", kAutomatic, "longer rows are dropped and counted"},
    {"data.filter_overlong_prompts_workers", kAutomatic},
    {"data.truncation", kAutomatic, "prompts are never cut; longer rows are dropped and counted"},
    {"data.val_batch_size", kAutomatic, "the validation is sampled at once"},
    {"data.dataloader_num_workers", kAutomatic},
    {"data.trust_remote_code", kNothing},
    {"data.return_raw_*", kAutomatic},
    {"data.image_key", kRefused, "images are not supported; roll reads text only"},
    {"data.video_key", kRefused, "videos are not supported; roll reads text only"},
    {"data.apply_chat_template_kwargs.*", kUnsupported,
     "only Qwen3's enable_thinking is supported, as data_args.enable_thinking"},
    {"data.sampler.*", kUnsupported, kPython},
    {"data.custom_cls.*", kUnsupported, kPython},
    {"data.gen_batch_size", kAutomatic, "dropped groups are replaced prompt by prompt"},

    {MODEL "path", kCopied, "pretrain", "set-me/to-a-model-folder"},
    {MODEL "enable_gradient_checkpointing", kCombined, "", "true"},
    {MODEL "use_remove_padding", kAutomatic, "there is no padding"},
    {MODEL "use_fused_kernels", kAutomatic},
    {MODEL "use_liger", kAutomatic},
    {MODEL "use_shm", kNothing},
    {MODEL "trust_remote_code", kNothing},
    {MODEL "external_lib", kUnsupported, kPython},
    VERL_ADAPTER_ROWS(MODEL),
    VERL_MTP_ROWS(MODEL),
    {MODEL "torch_dtype", kAutomatic, "bf16 on a GPU; model_args.dtype changes it"},
    {MODEL "enable_activation_offload", kAutomatic, kMemory},
    {MODEL "fused_kernel_options.*", kAutomatic},
    {MODEL "override_config.attn_implementation", kAutomatic},
    {MODEL "override_config.max_position_embeddings", kAutomatic, "prompt_length + response_length"},
    {MODEL "override_config.model_config.max_position_embeddings", kAutomatic, "prompt_length + response_length"},
    {MODEL "override_config*", kRefused,
     "changes of the model are not converted; make them in the model folder's config.json", "{}"},
    {"actor_rollout_ref.hybrid_engine", kAutomatic},
    {"actor_rollout_ref.nccl_timeout", kAutomatic, "actor_train.backend_timeout, in minutes"},

    {ACTOR "ppo_mini_batch_size", kCombined, "", "256"},
    {ACTOR "ppo_micro_batch_size_per_gpu", kCombined},
    {ACTOR "ppo_micro_batch_size", kNothing, "deprecated in verl; ppo_micro_batch_size_per_gpu is used"},
    {ACTOR "use_dynamic_bsz", kCombined, "", "false"},
    {ACTOR "ppo_max_token_len_per_gpu", kCombined, "", "16384"},
    {ACTOR "ppo_epochs", kCopied, "ppo_epochs", "1"},
    {ACTOR "grad_clip", kCopied, "max_grad_norm", "1.0"},
    {ACTOR "clip_ratio", kCombined, "", "0.2"},
    {ACTOR "clip_ratio_low", kCombined, "", "0.2"},
    {ACTOR "clip_ratio_high", kCombined, "", "0.2"},
    {ACTOR "clip_ratio_c", kCombined, "", "3.0"},
    {ACTOR "loss_agg_mode", kCombined, "", "token-mean"},
    {ACTOR "loss_scale_factor", kCombined},
    {ACTOR "entropy_coeff", kCopied, "entropy_loss_coef", "0"},
    {ACTOR "use_kl_loss", kCopied, "use_kl_loss", "false"},
    {ACTOR "kl_loss_coef", kCombined, "", "0.001"},
    {ACTOR "kl_loss_type", kCombined, "", "low_var_kl"},
    {ACTOR "policy_loss.loss_mode", kCombined, "", "vanilla"},
    {ACTOR "policy_loss.dro_beta", kCombined},
    {ACTOR "tau_pos", kCombined, "", "1.0"},
    {ACTOR "tau_neg", kCombined, "", "1.05"},
    {ACTOR "policy_loss.*", kNothing, "only for losses that are not supported"},
    {ACTOR "qat.enable", kRefused,
     "quantisation-aware training (QAT) is not supported; model_args.quantise_base is for LoRA"},
    {ACTOR "qat.*", kNothing, "no effect without qat.enable"},
    {ACTOR "use_rollout_log_probs", kRefused, "old log-probs from the sampler are not converted"},
    {ACTOR "shuffle", kAutomatic, "`seed` determines the mini-batches"},
    {ACTOR "strategy", kAutomatic, "one built-in back-end"},
    {ACTOR "ulysses_sequence_parallel_size", kCombined, "", "1"},
    {ACTOR "megatron.tensor_model_parallel_size", kCombined, "", "1"},
    {ACTOR "megatron.context_parallel_size", kCombined, "", "1"},
    {ACTOR "megatron.pipeline_model_parallel_size", kCombined, "", "1"},
    {ACTOR "megatron.virtual_pipeline_model_parallel_size", kCombined},
    {ACTOR "megatron.override_transformer_config.num_layers_in_*", kCombined},
    {ACTOR "megatron.override_transformer_config.account_for_*", kCombined},
    {ACTOR "megatron.override_transformer_config.pipeline_model_parallel_layout", kCombined},
    {ACTOR "megatron.expert_model_parallel_size", kCombined, "", "1"},
    {ACTOR "megatron.override_transformer_config.moe_aux_loss_coeff", kCopied,
     "actor_train.strategy_args.strategy_config.moe_aux_loss_coeff"},
    {ACTOR "megatron.override_transformer_config.moe_z_loss_coeff", kCopied,
     "actor_train.strategy_args.strategy_config.moe_z_loss_coeff"},
    {ACTOR "megatron.override_transformer_config.bias_dropout_fusion", kAutomatic, "one built-in back-end"},
    {ACTOR "megatron.override_transformer_config.bias_*", kAutomatic, "one built-in back-end"},
    {ACTOR "megatron.override_transformer_config.normalization", kAutomatic, "read from the model's config.json"},
    {ACTOR "megatron.override_transformer_config.masked_softmax_fusion", kAutomatic, "one built-in back-end"},
    {ACTOR "megatron.router_replay.mode", kCombined, "", "disabled"},
    {ACTOR "megatron.*", kAutomatic, "one built-in back-end"},
    {ACTOR "veomni.cross_entropy_loss_implementation", kAutomatic, "one built-in back-end"},
    {ACTOR "optim.lr", kCopied, "actor_train.training_args.learning_rate", "1e-6"},
    {ACTOR "optim.weight_decay", kCopied, "actor_train.training_args.weight_decay", "0.01"},
    {ACTOR "optim.lr_warmup_steps", kCopied, "actor_train.training_args.warmup_steps", "", not_negative},
    {ACTOR "optim.lr_warmup_steps_ratio", kCopied, "actor_train.training_args.warmup_ratio", "0.0"},
    {ACTOR "optim.warmup_style", kCopied, "actor_train.training_args.lr_scheduler_type", "constant"},
    {ACTOR "optim.lr_scheduler_type", kCopied, "actor_train.training_args.lr_scheduler_type", ""},
    {ACTOR "optim.betas", kCombined},
    {ACTOR "optim.total_training_steps", kAutomatic, "schedules end with the run"},
    {ACTOR "optim.lr_decay_style", kCopied, "actor_train.training_args.lr_scheduler_type", ""},
    {ACTOR "optim.clip_grad", kCopied, "max_grad_norm"},
    {ACTOR "optim.min_lr", kCombined},
    {ACTOR "optim.min_lr_ratio", kCombined},
    {ACTOR "optim.optimizer", kCombined, "", "AdamW"},
    {ACTOR "optim.optimizer_impl", kRefused, "not a supported optimizer; use PyTorch's AdamW", "torch.optim"},
    {ACTOR "optim.num_cycles", kRefused, "several cycles of the learning rate are not supported", "0.5"},
    {ACTOR "optim.lr_decay_steps", kRefused, "a schedule that ends before the run is not supported", "-1"},
    {ACTOR "optim.weight_decay_incr_style", kRefused, "a changing weight decay is not supported", "constant"},
    {ACTOR "optim.override_optimizer_config.*", kAutomatic, "states are float32; `offload: true` moves them"},
    {ACTOR "optim.*", kRefused, "not a supported setting of the optimizer or its schedule"},
    {ACTOR "fsdp_config.*", kAutomatic, kMemory},
    {ACTOR "checkpoint.*", kAutomatic, "checkpoints are complete, and written during training"},
    {ACTOR "use_torch_compile", kAutomatic},
    {ACTOR "profiler.*", kNothing},
    {ACTOR "calculate_*", kAutomatic, "computed if an estimator or a metric needs it"},
    {ACTOR "sum_pi_squared_checkpointing", kAutomatic, kMemory},
    {ACTOR "use_prefix_grouper", kAutomatic},
    {ACTOR "freeze_vision_tower", kRefused, "images are not supported; roll reads text only"},
    {ACTOR "router_replay.mode", kCombined, "", "disabled"},
    {ACTOR "veomni.router_replay.mode", kCombined, "", "disabled"},
    {ACTOR "tau_*", kNothing, "only for SAPO"},
    {ACTOR "entropy_from_logits*", kAutomatic, kMemory},
    {ACTOR "entropy_checkpointing", kAutomatic, kMemory},
    {ACTOR "use_remove_padding", kAutomatic, "there is no padding"},

    {REF "fsdp_config.*", kAutomatic, kMemory},
    {REF "megatron.*", kAutomatic, "it has the policy's layout; change it with reference.strategy_args"},
    {REF "log_prob_micro_batch_size*", kAutomatic, "reference.infer_batch_size, or packing"},
    {REF "log_prob_max_token_len_per_gpu", kCombined},
    {REF "entropy_*", kAutomatic, kMemory},
    {REF "*", kAutomatic, "it has the policy's layout; change it with reference.strategy_args"},

    {ROLLOUT "n", kCopied, "num_return_sequences_in_group", "1"},
    {ROLLOUT "temperature", kCopied, "actor_infer.generating_args.temperature", "1.0"},
    {ROLLOUT "top_p", kCopied, "actor_infer.generating_args.top_p", "1"},
    {ROLLOUT "top_k", kCopied, "actor_infer.generating_args.top_k", "-1"},
    {ROLLOUT "tensor_model_parallel_size", kCombined, "", "2"},
    {ROLLOUT "gpu_memory_utilization", kCopied, "actor_infer.strategy_args.strategy_config.gpu_memory_utilization",
     "0.5"},
    {ROLLOUT "max_num_batched_tokens", kCopied, "actor_infer.strategy_args.strategy_config.max_num_batched_tokens"},
    {ROLLOUT "max_num_seqs", kCopied, "max_running_requests", "1024"},
    {ROLLOUT "do_sample", kAutomatic, "temperature 0 is greedy"},
    {ROLLOUT "val_kwargs.temperature", kCopied, "validation.generating_args.temperature", "0"},
    {ROLLOUT "val_kwargs.top_p", kCopied, "validation.generating_args.top_p", "1.0"},
    {ROLLOUT "val_kwargs.top_k", kCopied, "validation.generating_args.top_k", "-1"},
    {ROLLOUT "val_kwargs.n", kCopied, "validation.generating_args.num_return_sequences", "1"},
    {ROLLOUT "val_kwargs.do_sample", kAutomatic, "temperature 0 is greedy"},
    {ROLLOUT "multi_turn.enable", kRefused, kTurns},
    {ROLLOUT "multi_turn.*", kNothing, "no effect without multi_turn.enable"},
    {ROLLOUT "agent.default_agent_loop", kRefused, kTurns, "single_turn_agent"},
    {ROLLOUT "agent.agent_loop_config_path", kRefused, kTurns},
    {ROLLOUT "agent.*", kAutomatic, kSampler},
    {ROLLOUT "log_prob_*", kAutomatic, "as for training micro-batches"},
    {ROLLOUT "*", kAutomatic, kSampler},

    {"critic.optim.lr", kCopied, "critic.training_args.learning_rate", "1e-5"},
    {"critic.optim.weight_decay", kCopied, "critic.training_args.weight_decay", "0.01"},
    {"critic.optim.lr_warmup_steps", kCopied, "critic.training_args.warmup_steps", "", not_negative},
    {"critic.optim.lr_warmup_steps_ratio", kCopied, "critic.training_args.warmup_ratio"},
    {"critic.optim.warmup_style", kCopied, "critic.training_args.lr_scheduler_type", "constant"},
    {"critic.model.path", kCopied, "reward_pretrain"},
    VERL_ADAPTER_ROWS("critic.model."),
    {"critic.model.*", kAutomatic, "as the policy's"},
    {"critic.optim.total_training_steps", kAutomatic, "schedules end with the run"},
    {"critic.cliprange_value", kCopied, "value_clip", "0.5"},
    {"critic.ppo_max_token_len_per_gpu", kAutomatic, "as the policy's; critic.sequence_packing_args changes it"},
    {"critic.*", kCombined},

    {"reward_model.enable", kCombined, "", "false"},
    {"reward_model.model.path", kCombined},
    {"reward.reward_model.*", kAutomatic, "a reward model runs on the training's ranks"},
    {"reward.num_workers", kAutomatic, "responses are scored as they finish"},
    {"reward_model.use_reward_loop", kAutomatic, "responses are scored as they finish"},
    {"reward_model.reward_manager", kAutomatic, "rewards.<name>.type selects the reward"},
    {"reward_model.overlong_buffer.enable", kCopied, "rewards.math_rule.overlong_buffer.enable"},
    {"reward_model.overlong_buffer.len", kCopied, "rewards.math_rule.overlong_buffer.len"},
    {"reward_model.overlong_buffer.penalty_factor", kCopied, "rewards.math_rule.overlong_buffer.penalty_factor"},
    {"reward_model.overlong_buffer.log", kAutomatic},
    {"reward_model.reward_kwargs.overlong_buffer_cfg.enable", kCopied, "rewards.math_rule.overlong_buffer.enable"},
    {"reward_model.reward_kwargs.overlong_buffer_cfg.len", kCopied, "rewards.math_rule.overlong_buffer.len"},
    {"reward_model.reward_kwargs.overlong_buffer_cfg.penalty_factor", kCopied,
     "rewards.math_rule.overlong_buffer.penalty_factor"},
    {"reward_model.reward_kwargs.overlong_buffer_cfg.*", kAutomatic},
    {"reward_model.reward_kwargs.max_resp_len", kAutomatic, "response_length"},
    {"reward_model.reward_kwargs.*", kUnsupported, "rewards.<name> has its own settings"},
    {"reward_model.sandbox_fusion.*", kUnsupported, "rewards.<name>.type: code_sandbox runs programs"},
    {"reward_model.*", kAutomatic, "a reward model runs on the training's ranks"},
    {"reward.*", kUnsupported, "write it as rewards.<name>"},
    {"custom_reward_function.path", kCombined},
    {"custom_reward_function.name", kCombined, "", "compute_score"},
    {"custom_reward_function.*", kUnsupported, "write the function's settings as the defaults of its parameters"},

    {"algorithm.adv_estimator", kCombined, "", "gae"},
    {"algorithm.norm_adv_by_std_in_grpo", kCombined, "", "true"},
    {"algorithm.gamma", kCopied, "gamma", "1.0"},
    {"algorithm.lam", kCopied, "lambd", "1.0"},
    {"algorithm.use_kl_in_reward", kCopied, "add_token_level_kl", "false"},
    {"algorithm.kl_penalty", kCombined, "", "kl"},
    {"algorithm.kl_ctrl.type", kCombined, "", "fixed"},
    {"algorithm.kl_ctrl.kl_coef", kCombined, "", "0.001"},
    {"algorithm.kl_ctrl.horizon", kCombined, "", "10000"},
    {"algorithm.kl_ctrl.target_kl", kCombined, "", "0.1"},
    {"algorithm.filter_groups.enable", kCombined, "", "false"},
    {"algorithm.filter_groups.metric", kAutomatic, "groups are filtered by their scores"},
    {"algorithm.filter_groups.max_num_gen_batches", kAutomatic, "dropped groups are replaced until the step is full"},
    {"algorithm.rollout_correction.rollout_is", kCombined},
    {"algorithm.rollout_correction.rollout_is_threshold", kCombined, "", "2.0"},
    {"algorithm.rollout_correction.rollout_is_batch_normalize", kRefused,
     "dividing weights by their mean is not supported"},
    {"algorithm.rollout_correction.rollout_rs", kCombined},
    {"algorithm.rollout_correction.rollout_rs_threshold", kCombined},
    {"algorithm.rollout_correction.bypass_mode", kRefused, "old log-probs from the sampler are not converted"},
    {"algorithm.rollout_correction.loss_type", kNothing, "no effect without bypass_mode"},
    {"algorithm.gdpo_reward_keys", kCombined},
    {"algorithm.gdpo_reward_weights", kCombined},
    {"algorithm.gdpo_*", kNothing, "only for GDPO"},
    {"algorithm.use_pf_ppo", kRefused, "PF-PPO, which weights and drops samples, is not supported"},
    {"algorithm.pf_ppo.*", kNothing, "no effect without use_pf_ppo"},
    VERL_DISTILLATION_ROWS,

    {"trainer.n_gpus_per_node", kCombined, "", "8"},
    {"trainer.nnodes", kCombined, "", "1"},
    {"trainer.total_training_steps", kCombined},
    {"trainer.total_epochs", kCombined, "", "30"},
    {"trainer.experiment_name", kCopied, "exp_name", "", nullptr},
    {"trainer.project_name", kNothing},
    {"trainer.default_local_dir", kCopied, "output_dir"},
    {"trainer.save_freq", kCopied, "save_steps", "-1", steps_or_never},
    {"trainer.test_freq", kCopied, "eval_steps", "-1", steps_or_never},
    {"trainer.critic_warmup", kCopied, "critic_warmup", "0"},
    {"trainer.max_actor_ckpt_to_keep", kCopied, "max_ckpt_to_keep"},
    {"trainer.logger", kAutomatic, kCurves},
    {"trainer.resume_mode", kAutomatic, "roll train --resume"},
    {"trainer.resume_from_path", kAutomatic, "resume_from_checkpoint=FOLDER"},
    {"trainer.val_before_train", kAutomatic, "a validation runs before the first step"},
    {"trainer.rollout_data_dir", kCopied, "rollout_dump_dir"},
    {"trainer.*", kNothing},
    {"ray_*", kNothing, "roll does not use Ray"},
    {"global_profiler.*", kNothing},
    {"hydra.*", kNothing},
    {"config-name", kCombined},
    {"config-path", kNothing, ""},
};

/// The critic uses the policy's settings, except for keys with a row of their own.
void combine_critic(Conversion& c) {
  const DraftKey* estimator = c.draft.find("adv_estimator");
  if (estimator->value != "gae") return;
  require_same(c, {{"critic.loss_agg_mode", ACTOR "loss_agg_mode"},
                   {"critic.loss_scale_factor", ACTOR "loss_scale_factor"},
                   {"critic.ppo_epochs", ACTOR "ppo_epochs"},
                   {"critic.ppo_mini_batch_size", ACTOR "ppo_mini_batch_size"},
                   {"critic.grad_clip", ACTOR "grad_clip"},
                   {"critic.optim.clip_grad", ACTOR "optim.clip_grad"},
                   {"critic.optim.betas", ACTOR "optim.betas"}});
  c.take_rest("critic.", "as the policy's");
}

void combine_optimizer(Conversion& c) {
  require_adam(c, ACTOR "optim.optimizer");
  const std::string type = c.draft.find("actor_train.training_args.lr_scheduler_type")->value;
  set_last_rate(c, type, ACTOR "optim.min_lr", false);
  set_last_rate(c, type, ACTOR "optim.min_lr_ratio", true);
  const std::string betas = c.text(ACTOR "optim.betas");  // [0.9,0.999]
  const size_t comma = betas.find(',');
  if (comma == std::string::npos) return;
  const std::string args = "actor_train.training_args.", from = c.origin(ACTOR "optim.betas");
  c.set(args + "adam_beta1", betas.substr(1, comma - 1), from);
  c.set(args + "adam_beta2", betas.substr(comma + 1, betas.size() - comma - 2), from);
}

/// The table holds defaults of verl's own configurations; another configuration is refused.
void check_configuration(Conversion& c) {
  std::string name = c.text("config-name");
  if (name.ends_with(".yaml")) name.resize(name.size() - 5);
  if (name.empty() || name == "ppo_trainer" || name == "ppo_megatron_trainer") return;
  throw c.refused("config-name",
                  fmt::format("another configuration{}, which is not in the script; give its file before the script, "
                              "and --config-name ppo_trainer after it",
                              name.find("multiturn") != name.npos ? ", by its name for several turns" : ""));
}

void combine_batches(Conversion& c) {
  c.set_num_ranks("trainer.n_gpus_per_node", "trainer.nnodes");
  set_devices(c, {"trainer.n_gpus_per_node", "trainer.nnodes"});
  const int64_t model_ranks = set_verl_layout(c);
  const bool packs = c.is_true(ACTOR "use_dynamic_bsz");
  const std::string micro = c.text(ACTOR "ppo_micro_batch_size_per_gpu");
  const int64_t sequences = c.count(ACTOR "ppo_mini_batch_size") * c.count(ROLLOUT "n");
  const std::string origin = c.origin(ACTOR "ppo_mini_batch_size") + " prompts x " + c.origin(ROLLOUT "n");
  for (const char* role : {"actor_train", "critic"})
    set_updates(c, {role, sequences, origin, packs || micro.empty() ? 1 : c.count(ACTOR "ppo_micro_batch_size_per_gpu"),
                    model_ranks});
  if (!packs) return;
  constexpr const char *kTrain = ACTOR "ppo_max_token_len_per_gpu", *kForward = REF "log_prob_max_token_len_per_gpu";
  const int64_t context =
      std::max(c.count(ACTOR "ulysses_sequence_parallel_size"), c.count(ACTOR "megatron.context_parallel_size"));
  set_packing(c, {.train = c.count(kTrain),
                  .forward = c.count(c.text(kForward).empty() ? kTrain : kForward),
                  .ranks = context,
                  .origin = c.origin(kTrain)});
}

void combine_verl(Conversion& c) {
  check_configuration(c);
  refuse_other_models(c, MODEL "path");
  combine_verl_objective(c);
  combine_verl_correction(c);
  combine_critic(c);
  combine_optimizer(c);
  combine_batches(c);
  set_verl_adapters(c, MODEL, "actor_train");
  set_verl_mtp(c, MODEL, "actor_train");
  set_verl_adapters(c, "critic.model.", "critic");
  for (const char* role : {"actor_train", "critic"})
    c.set(std::string(role) + ".model_args.disable_gradient_checkpointing",
          negated(c.text(MODEL "enable_gradient_checkpointing")), c.origin(MODEL "enable_gradient_checkpointing"));
  if (!c.text("trainer.total_training_steps").empty())
    c.set_from("max_steps", "trainer.total_training_steps");
  else
    c.set_from("num_train_epochs", "trainer.total_epochs");
  if (c.is_set("data.seed")) c.set_from("seed", "data.seed");
  const bool has_reward_model = c.is_true("reward_model.enable");
  if (!has_reward_model)
    c.set("actor_train.data_args.ground_truth", "reward_model.ground_truth", "where verl's rows have it");
  const std::string file = c.text("custom_reward_function.path");
  const std::string function = file.empty() ? "" : file + ":" + c.text("custom_reward_function.name");
  set_reward(c, has_reward_model ? "reward_model.model.path" : nullptr, function);
  if (c.text("algorithm.adv_estimator") == "gdpo") set_verl_gdpo_terms(c, function);
  combine_verl_distillation(c);
  set_data(c, {ROLLOUT "val_kwargs.temperature", ROLLOUT "val_kwargs.top_p", ROLLOUT "val_kwargs.top_k",
               ROLLOUT "val_kwargs.n"});
  set_roles(c);
}

/// Maps the newer `reward` group to the older groups of `rows`.
const char* find_older_name(const std::string& key) {
  static constexpr std::pair<const char*, const char*> kNames[] = {
      {"reward.reward_model.enable", "reward_model.enable"},
      {"reward.reward_model.model_path", "reward_model.model.path"},
      {"reward.reward_manager.name", "reward_model.reward_manager"},
      {"reward.custom_reward_function.path", "custom_reward_function.path"},
      {"reward.custom_reward_function.name", "custom_reward_function.name"}};
  for (const auto& [new_name, old_name] : kNames)
    if (key == new_name) return old_name;
  constexpr std::string_view kArguments = "reward.reward_kwargs.";
  if (!key.starts_with(kArguments)) return nullptr;
  const ForeignRow* row = find_row(kRows, "reward_model." + key.substr(std::string_view("reward.").size()));
  return row ? row->foreign_key : nullptr;
}

}  // namespace
}  // namespace verl

const ForeignTrainer& verl_trainer() {
  static const ForeignTrainer trainer{"verl", "train", verl::kRows, verl::combine_verl, verl::find_older_name};
  return trainer;
}

}  // namespace roll
