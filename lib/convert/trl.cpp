// Table of TRL's GRPOConfig and RLOOConfig, as YAML or flags (--num_generations 8). TRL's batches count completions,
// and its step is one update.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "convert/adapters.h"
#include "convert/table.h"
#include "convert/trl_adapters.h"
#include "convert/trl_objective.h"

namespace roll {

namespace trl {
namespace {

using enum Fate;

constexpr const char* kSampler = "the sampler is built in, and shares the weights";

constexpr ForeignRow kRows[] = {
    {"model_name_or_path", kCopied, "pretrain", "set-me/to-a-model-folder"},
    {"output_dir", kCopied, "output_dir"},
    {"run_name", kCopied, "exp_name"},
    {"dataset_name", kCopied, "actor_train.data_args.file_name", "", listed},
    {"dataset_train_split", kNothing, "give files instead"},
    {"dataset_config", kNothing, "give files instead"},
    {"seed", kCopied, "seed", "42"},
    TRL_MODEL_ROWS,
    {"tools", kRefused, kTurns},
    {"environment_factory", kRefused, kTurns},
    {"rollout_func", kRefused, kTurns},
    {"max_tool_calling_iterations", kRefused, kTurns},
    {"trust_remote_code", kNothing},
    {"model_revision", kNothing},
    {"num_machines", kAutomatic, "num_processes counts all machines"},
    {"machine_rank", kNothing},
    {"main_*", kNothing},
    {"main_training_function", kNothing},
    {"compute_environment", kNothing},
    {"distributed_type", kAutomatic, "one built-in back-end"},
    {"deepspeed_config.zero_stage", kCombined},
    {"deepspeed_config.*", kAutomatic, "one built-in back-end"},
    {"zero_optimization.stage", kCombined},
    {"zero_optimization.*", kAutomatic, "one built-in back-end"},
    {"fsdp*", kAutomatic, "one built-in back-end"},
    {"mixed_precision", kAutomatic, "bf16 on a GPU; model_args.dtype changes it"},
    {"downcast_bf16", kNothing},
    {"rdzv_backend", kNothing},
    {"same_network", kNothing},
    {"tpu_*", kNothing},
    {"use_cpu", kAutomatic, "a GPU is used if there is one"},
    {"debug", kNothing},
    {"enable_cpu_affinity", kNothing},

    {"max_prompt_length", kCopied, "prompt_length", "512"},
    {"max_completion_length", kCopied, "response_length", "512"},
    {"num_generations", kCopied, "num_return_sequences_in_group", "8"},
    {"num_generations_eval", kCopied, "validation.generating_args.num_return_sequences"},
    {"per_device_train_batch_size", kCombined, "", "8"},
    {"gradient_accumulation_steps", kCombined, "", "1"},
    {"steps_per_generation", kCombined},
    {"generation_batch_size", kCombined},
    {"num_iterations", kCopied, "ppo_epochs", "1"},
    {"max_steps", kCombined},
    {"num_train_epochs", kCombined, "", "3"},
    {"num_processes", kCombined},
    {"shuffle_dataset", kAutomatic, "prompts are always shuffled, by `seed`"},
    {"remove_unused_columns", kAutomatic},
    {"per_device_eval_batch_size", kAutomatic, "the validation is sampled at once"},

    {"temperature", kCopied, "actor_infer.generating_args.temperature", "1.0"},
    {"top_p", kCopied, "actor_infer.generating_args.top_p", "1.0"},
    {"top_k", kCopied, "actor_infer.generating_args.top_k", "0"},
    {"min_p", kCopied, "actor_infer.generating_args.min_p"},
    {"repetition_penalty", kCopied, "actor_infer.generating_args.repetition_penalty", "1.0"},
    {"generation_kwargs*", kUnsupported, "write them under actor_infer.generating_args"},
    {"chat_template_kwargs*", kUnsupported, "only Qwen3's enable_thinking is supported, as data_args.enable_thinking"},
    {"use_vllm", kCombined, "", "false"},
    {"vllm_importance_sampling_correction", kCombined, "", "true"},
    {"vllm_importance_sampling_mode", kCombined, "", "sequence_mask"},
    {"vllm_importance_sampling_clip_max", kCombined, "", "3.0"},
    {"vllm_importance_sampling_clip_min", kCombined},
    {"vllm_importance_sampling_cap", kCombined},
    {"vllm_gpu_memory_utilization", kCopied, "actor_infer.strategy_args.strategy_config.gpu_memory_utilization"},
    {"vllm_tensor_parallel_size", kCopied, "actor_infer.strategy_args.strategy_config.tensor_parallel_size"},
    {"vllm_*", kAutomatic, kSampler},
    {"use_transformers_paged", kAutomatic, kSampler},
    {"cache_implementation", kAutomatic, kSampler},
    {"ds3_gather_for_generation", kAutomatic, kSampler},

    {"beta", kCombined, "", "0.0"},
    {"epsilon", kCombined, "", "0.2"},
    {"epsilon_high", kCombined},
    {"delta", kCombined},
    {"loss_type", kCombined, "", "dapo"},
    {"scale_rewards", kCombined, "", "group"},
    {"importance_sampling_level", kCombined, "", "token"},
    {"mask_truncated_completions", kCopied, "max_len_mask", "false"},
    {"reward_funcs", kUnsupported, "Python code cannot be converted; write rewards.<name>"},
    {"reward_weights", kUnsupported, "rewards.<name>.terms has weights"},
    {"multi_objective_aggregation", kCombined, "", "sum_then_normalize"},
    {"sync_ref_model", kRefused, "a reference that is updated is not supported; roll keeps it frozen"},
    {"ref_model_mixup_alpha", kNothing, "no effect without sync_ref_model"},
    {"ref_model_sync_steps", kNothing, "no effect without sync_ref_model"},
    {"top_entropy_quantile", kRefused, "a loss on high-entropy tokens only is not supported", "1.0"},
    {"off_policy_mask_threshold", kRefused, "off-policy sequence masking is not supported"},
    {"use_bias_correction_kl", kRefused, "a KL weighted by the ratio is not supported"},
    {"sapo_temperature_pos", kCombined, "", "1.0"},
    {"sapo_temperature_neg", kCombined, "", "1.05"},
    {"vespo_*", kNothing, "only for VESPO"},
    {"entropy_coef", kCombined, "", "0.0"},
    {"use_adaptive_entropy", kRefused, "an adaptive entropy coefficient is not supported"},
    {"entropy_coef_*", kNothing, "no effect without use_adaptive_entropy"},
    {"entropy_target", kNothing, "no effect without use_adaptive_entropy"},
    {"router_aux_loss_coef", kRefused,
     "transformers' load-balancing loss is not supported; set it to 0. roll's moe_aux_loss_coeff is another loss, "
     "Megatron's",
     "0.001"},
    {"rloo_trainer", kCombined, "", "false"},
    {"normalize_advantages", kCombined, "", "false"},
    {"reward_clip_range", kCombined},
    {"neftune_noise_alpha", kRefused, "noise on embeddings is not supported"},
    {"label_smoothing_factor", kRefused, "label smoothing is not supported"},
    {"lr_scheduler_kwargs.min_lr", kCopied, "actor_train.training_args.lr_scheduler_kwargs.min_lr"},
    {"lr_scheduler_kwargs.min_lr_rate", kCopied, "actor_train.training_args.lr_scheduler_kwargs.min_lr_rate"},
    {"lr_scheduler_kwargs.num_cycles", kCopied, "actor_train.training_args.lr_scheduler_kwargs.num_cycles"},
    {"lr_scheduler_kwargs.power", kCopied, "actor_train.training_args.lr_scheduler_kwargs.power"},
    {"lr_scheduler_kwargs.lr_end", kCopied, "actor_train.training_args.lr_scheduler_kwargs.lr_end"},
    {"lr_scheduler_kwargs*", kRefused, "arguments of the schedule are not converted", "{}"},
    {"disable_dropout", kAutomatic, "there is no dropout"},
    {"cast_lm_head_to_fp32", kAutomatic, "log-probs are always computed in float32"},

    TRL_OPTIMIZER_ROWS,
    {"optim_args", kRefused, "arguments of the optimizer are not converted"},
    {"optim_target_modules", kRefused, "an optimizer for some modules only is not supported"},
    {"gradient_checkpointing", kCopied, "actor_train.model_args.disable_gradient_checkpointing", "true", negated},
    {"gradient_checkpointing_kwargs*", kAutomatic},
    {"deepspeed", kAutomatic, "one built-in back-end"},
    {"ddp_*", kAutomatic, "one built-in back-end"},
    {"dataloader_*", kAutomatic},
    TRL_SAVING_ROWS,
    {"report_to", kAutomatic, kCurves},
    {"log_*", kAutomatic, "rollouts/ has every response"},
    {"num_completions_to_print", kAutomatic, "rollouts/ has every response"},
    {"push_to_hub", kNothing},
    {"hub_*", kNothing},
    {"config_file", kAutomatic, "roll train -n starts the processes"},
};

/// Returns TRL's own reward functions as roll's terms; "" for other functions.
std::string reward_term(const std::string& function) {
  if (function == "accuracy_reward" || function == "reasoning_accuracy_reward") return "type: math_rule";
  if (function == "think_format_reward") return "type: regex, pattern: '^<think>(?!.*<think>).*</think>'";
  return "";
}

void combine_rewards(Conversion& c) {
  set_reward(c);
  if (!c.is_known("reward_funcs")) return;
  const std::vector<std::string> functions = split_entries(c.text("reward_funcs"));
  if (functions.empty() || std::ranges::any_of(functions, [](const std::string& function_name) {
        return reward_term(function_name).empty();
      }))
    return;
  const std::vector<std::string> weights = split_entries(c.text("reward_weights"));
  if (!weights.empty() && weights.size() != functions.size())
    throw c.refused("reward_weights", "must have one weight for each of reward_funcs");
  std::vector<std::string> terms;
  std::ranges::transform(functions, std::back_inserter(terms), reward_term);
  c.draft.remove("rewards.math_rule.type");
  c.set("rewards.math_rule.terms", weighted_terms(terms, weights), c.origin({"reward_funcs", "reward_weights"}));
  std::erase_if(c.without, [](const std::string& line) {
    return line.starts_with("reward_funcs = ") || line.starts_with("reward_weights = ");
  });
  c.differences.back() = "reward: TRL's own functions become roll's reward types; math_rule extracts the answers";
}

void combine_batches(Conversion& c) {
  c.set_num_ranks("num_processes", nullptr);
  set_devices(c, {"num_processes"});
  const int64_t micro = c.count("per_device_train_batch_size"), accumulated = c.count("gradient_accumulation_steps");
  const int64_t update = micro * accumulated * c.num_ranks, group = c.count("num_generations");
  const auto count_or = [&](const char* key, int64_t fallback) {
    return c.text(key).empty() ? fallback : c.count(key);
  };
  const int64_t sampled =
      count_or("generation_batch_size", micro * count_or("steps_per_generation", accumulated) * c.num_ranks);
  if (sampled % group != 0)
    throw user_error(
        "{} completions are sampled at a time, which is not a multiple of num_generations = {}; give the number of "
        "processes with -n",
        sampled, group);
  c.set("rollout_batch_size", fmt::format("{}", sampled / group),
        fmt::format("prompts: {} completions of a generation / num_generations", sampled));
  set_updates(c, {"actor_train", update,
                  c.origin({"per_device_train_batch_size", "gradient_accumulation_steps"}) + " x processes", micro, 1});
  const double passes = static_cast<double>(c.count("num_iterations"));
  if (is_trl_rloo(c) && (passes > 1 || sampled > update))
    throw c.refused(passes > 1 ? "num_iterations" : "gradient_accumulation_steps",
                    "several updates per step with RLOOTrainer, which clips the ratio of the whole response, are not "
                    "supported; a step must make one update");
  if (c.text("max_steps").empty() || c.number("max_steps") < 1) {
    const double epochs = c.number("num_train_epochs");
    if (epochs >= 1 && epochs == std::floor(epochs))
      return c.set("num_train_epochs", fmt::format("{}", epochs), c.origin("num_train_epochs"));
    return c.differs(
        fmt::format("length: roll runs max_steps steps (default 500); TRL made {} passes over the rows: set max_steps "
                    "to rows x passes / rollout_batch_size",
                    c.text("num_train_epochs")));
  }
  const double updates = std::max(1.0, std::floor(static_cast<double>(sampled) * passes / static_cast<double>(update)));
  c.set("max_steps", fmt::format("{}", std::ceil(c.number("max_steps") / updates)),
        fmt::format("max_steps, which counts updates: {} updates make a step", updates));
  if (updates > 1) c.differs("steps: save_steps, eval_steps and logging_steps count updates in TRL, and steps in roll");
}

void combine_trl(Conversion& c) {
  refuse_other_models(c, "model_name_or_path");
  combine_trl_objective(c);
  require_adam(c, "optim");
  combine_batches(c);
  set_trl_adapters(c);
  for (const char* key : {"deepspeed_config.zero_stage", "zero_optimization.stage"})
    set_zero_stage(c, key, {"actor_train"});
  set_trl_dtype(c, {"actor_infer", "reference"});
  c.differs(
      "columns: `prompt` (a conversation or a text) with `answer` or `solution` is recognised by a file's first row; "
      "name other columns with data_args.messages, question, prompt and ground_truth");
  set_data(c, {"temperature", "top_p", "top_k", "num_generations"});
  combine_rewards(c);
  set_roles(c);
}

}  // namespace
}  // namespace trl

const ForeignTrainer& trl_trainer() {
  static const ForeignTrainer trainer{"trl", "train", trl::kRows, trl::combine_trl};
  return trainer;
}

}  // namespace roll
