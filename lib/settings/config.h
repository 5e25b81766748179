// The root configuration of `roll train`: ROLL's RLVR keys, each at the struct of its owner, inlined here at the top.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/from_env.h"
#include "experience/config.h"
#include "loss/config.h"
#include "reward/config.h"
#include "settings/agentic_config.h"
#include "settings/checkpoint_config.h"
#include "settings/rollout_mock.h"
#include "settings/worker_config.h"
#include "track/config.h"

namespace roll {

struct Node;

/// One reward domain, and the model of this program that judges in it, where the type asks for one.
struct RewardWorkerConfig {
  RewardArgs reward;
  WorkerConfig model;
  /// A judge that several domains share is at reward_model.
  bool shares_model() const {
    const auto* judge = reward.type ? std::get_if<LlmJudgeArgs>(&*reward.type) : nullptr;
    return judge && judge->judge_model_type == JudgeModelType::kCluster;
  }
  bool has_own_model() const { return reward.type && needs_model(*reward.type) && !shares_model(); }
  template <class V>
  void fields(V& v) {
    reward.fields(v);
    if (has_own_model())
      model.judging_fields(v);
    else
      v.noted({"model_args", "data_args", "generating_args", "strategy_args", "device_mapping", "num_gpus_per_worker",
               "infer_batch_size", "use_sequence_packing", "sequence_packing_args"},
              "a rule reward runs on the CPU and has no model");
  }
};

/// A model that a policy is distilled from.
struct TeacherConfig {
  WorkerConfig model{
      .duties = {.trains = false, .is_policy = false, .samples = false, .has_data = false, .leads = false}};
  std::optional<double> opd_kl_coef;
  std::vector<std::string> tag_included;
  std::vector<std::string> domains;  // whose responses it teaches; empty: all. No key, see settings/distillation.h
  template <class V>
  void fields(V& v) {
    model.fields(v);
    v("opd_kl_coef", opd_kl_coef, "weight of the KL to this teacher; null: that at the top level",
      within(0, 1'000'000));
    v("tag_included", tag_included, "it teaches the domains with these tags, or of these names; empty: all");
  }
};

struct Config {
  std::string exp_name = "rlvr";
  int64_t seed = 42;
  bool deterministic = false;
  std::string output_dir = "./output";
  std::optional<std::string> logging_dir;
  std::optional<int64_t> max_steps = 500;  // null: num_train_epochs passes over the rows
  std::optional<int64_t> num_train_epochs;
  int64_t eval_steps = 10;
  int64_t logging_steps = 1;
  CheckpointConfig checkpoints;
  TrackConfig track;
  std::optional<std::string> hostfile;
  std::map<std::string, std::string> system_envs;
  FromEnv from_env;  // no key: which values are written as where they came from
  int64_t rollout_batch_size = 128;
  int64_t prompt_length = 1024;
  std::optional<int64_t> response_length;  // filled when only sequence_length is set
  std::optional<int64_t> sequence_length;  // filled when only response_length is set
  std::optional<int64_t> val_prompt_length, val_sequence_length;
  int64_t num_return_sequences_in_group = 1;
  int64_t max_running_requests = 128;
  bool is_use_additional_prompts = false;
  std::optional<bool> use_additional_prompts;
  int64_t max_additional_running_prompts = 16;
  double async_generation_ratio = 0;
  std::optional<std::string> pretrain, reward_pretrain;
  int64_t ppo_epochs = 1;
  double max_grad_norm = 1;
  int64_t critic_warmup = 0;
  std::optional<bool> enable_reference, enable_old_logprobs_recompute;
  std::optional<bool> routing_replay;  // filled
  LossConfig loss;
  ExperienceConfig experience;
  AgenticConfig agentic;
  std::optional<std::string> global_template;
  std::map<std::string, std::string> tag_to_template;
  std::optional<std::string> rollout_dump_dir, rollout_replay;
  std::optional<bool> rollout_only;  // filled
  bool dump_experience = false;
  int64_t dump_samples = 4;
  RolloutMock rollout_mock;
  bool offload = false;
  int64_t max_restarts = 0;
  int64_t max_nonfinite_updates = 3;
  WorkerConfig actor_train{.duties = {.samples = false, .routes = true}};
  WorkerConfig actor_infer{
      .duties = {
          .trains = false, .is_policy = false, .forwards = false, .has_data = false, .routes = true, .leads = false}};
  WorkerConfig reference{
      .duties = {.trains = false, .is_policy = false, .samples = false, .has_data = false, .leads = false}};
  std::map<std::string, TeacherConfig> teacher;
  std::optional<double> opd_kl_coef;
  std::string pure_opd_pipeline_type = "rlvr";
  WorkerConfig critic{.duties = {.is_policy = false, .samples = false, .has_data = false, .leads = false}};
  WorkerConfig validation{.duties = {.has_model = false,
                                     .trains = false,
                                     .is_policy = false,
                                     .forwards = false,
                                     .has_sets = true,
                                     .leads = false}};
  std::map<std::string, RewardWorkerConfig> rewards;
  WorkerConfig reward_model{.duties = {.trains = false, .is_policy = false, .forwards = false, .leads = false}};

  /// Else it only samples (settings/rollout_only.h).
  bool trains() const { return !rollout_only.value_or(false); }
  bool uses_critic() const { return trains() && experience.adv_estimator->needs_values; }
  bool distils() const { return trains() && experience.distils(); }
  /// In tokens, of training and validation; once the lengths are filled in.
  int64_t longest_sequence() const { return std::max(sequence_length.value_or(0), val_sequence_length.value_or(0)); }
  /// The reference is only run where a KL to it is wanted; where teachers are, there is none.
  bool uses_reference() const {
    return trains() && !distils() &&
           (enable_reference.value_or(false) || loss.use_kl_loss || experience.penalises_kl());
  }
  /// Whether some of a step is sampled while the one before is trained on.
  bool samples_ahead() const { return trains() && async_generation_ratio > 0; }
  /// Of the validation itself, beside its sets.
  bool validates_rows() const { return !validation.data_args.file_name.empty() || agentic.validates(); }
  bool validates() const { return validates_rows() || !validation.sets.empty(); }
  /// In environments rollout_batch_size counts trajectories.
  int64_t prompts_per_step() const {
    return agentic.is_used() ? rollout_batch_size / num_return_sequences_in_group : rollout_batch_size;
  }
  /// Prompts of a domain that run beyond those that it lacks.
  int64_t additional_prompts() const { return is_use_additional_prompts ? max_additional_running_prompts : 0; }
  /// The most that a step samples at once.
  int64_t most_prompts() const {
    const auto drops = [](const auto& domain) {
      return domain.second.reward.query_filter_config.type != QueryFilter::kNone;
    };
    return prompts_per_step() + additional_prompts() * std::ranges::count_if(rewards, drops);
  }
  /// Of the run. Until count_steps() knows those of num_train_epochs: 1.
  int64_t num_steps() const { return max_steps.value_or(1); }
  int64_t sequences_per_step() const { return prompts_per_step() * num_return_sequences_in_group; }
  /// A prompt's responses that are sampled: those that are trained on, and where wanted a greedy one for its reward.
  int64_t samples_per_prompt() const {
    return num_return_sequences_in_group + (experience.adv_estimator->samples_baseline ? 1 : 0);
  }

  /// ROLL's spellings of distillation: student_train and student_infer become actor_train and actor_infer, and a single
  /// teacher one of several, by the name of "default". UserError: a role under both names.
  static void rewrite(Node& tree, std::vector<std::string>& notes);

  template <class V>
  void fields(V& v) {
    v("exp_name", exp_name, "name of the run");
    v("seed", seed, "names all random numbers", at_least(0));
    v("deterministic", deterministic,
      "a GPU gives the same bits in every run; some of its kernels get slower. The CPU always does");
    v("output_dir", output_dir, "run folder: metrics, rollouts, checkpoints");
    v("logging_dir", logging_dir, "folder of log.txt; null: output_dir");
    v("max_steps", max_steps, "steps of the run; null: num_train_epochs decides", round_range());
    v("num_train_epochs", num_train_epochs,
      "instead of max_steps: passes over the rows, rows x passes / rollout_batch_size steps", round_range());
    v("eval_steps", eval_steps, "a validation every so many steps; 0 or -1: never", at_least(-1));
    v("logging_steps", logging_steps, "the terminal shows every so many steps; the files hold them all", at_least(1));
    checkpoints.fields(v);
    track.fields(v);
    v("hostfile", hostfile, "hosts of the ranks, a line \"name slots=N\" each; null: this host");
    v("system_envs", system_envs, "environment variables set for the run");
    v("rollout_batch_size", rollout_batch_size, "prompts of a step", sequence_range());
    v("prompt_length", prompt_length, "longest prompt in tokens; longer rows are dropped and counted", token_range());
    v("response_length", response_length, "longest response in tokens", token_range());
    v("sequence_length", sequence_length, "prompt_length + response_length; one of the two is required", token_range());
    v("val_prompt_length", val_prompt_length, "prompt_length of the validation; null: the same", token_range());
    v("val_sequence_length", val_sequence_length, "sequence_length of the validation; null: the same", token_range());
    v("num_return_sequences_in_group", num_return_sequences_in_group, "responses per prompt", sequence_range());
    v("max_running_requests", max_running_requests, "sequences sampled at once", sequence_range());
    v("is_use_additional_prompts", is_use_additional_prompts,
      "a domain whose query_filter_config drops groups samples some prompts ahead; the step trains on the same ones");
    v("use_additional_prompts", use_additional_prompts, "an older name of is_use_additional_prompts");
    v("max_additional_running_prompts", max_additional_running_prompts,
      "how many prompts of such a domain run beyond those that it lacks", sequence_range());
    v("async_generation_ratio", async_generation_ratio,
      "steps by which sampling may run ahead of training, on devices of its own; a fraction: of a step's groups",
      within(0, 64));
    v("pretrain", pretrain, "the policy's first weights: HF folder or Hub name");
    v("reward_pretrain", reward_pretrain, "the critic's first weights; null: pretrain");
    v("ppo_epochs", ppo_epochs, "passes over a step's experience", round_range());
    v("max_grad_norm", max_grad_norm, "gradients are scaled down to this norm", above_to(0, 1e12));
    v("critic_warmup", critic_warmup, "first steps that train the critic only", at_least(0));
    v("enable_reference", enable_reference,
      "true: measure the KL to the reference even where no loss or reward needs it");
    v("enable_old_logprobs_recompute", enable_old_logprobs_recompute,
      "compute old log-probs before a step's first update; null: where something reads them, as several updates do");
    v("routing_replay", routing_replay,
      "true: in training each token goes through the experts that the sampler's routers chose for it");
    loss.fields(v);
    experience.fields(v);
    agentic.fields(v);
    v("global_template", global_template, "chat template of all data; null: the model's own");
    v("tag_to_template", tag_to_template, "chat template of the rows with a tag");
    v("rollout_dump_dir", rollout_dump_dir, "folder of the rollouts; null: output_dir/rollouts");
    v("rollout_replay", rollout_replay, "folder of rollouts to train on instead of sampling");
    v("rollout_only", rollout_only,
      "true: sample, score and keep rollouts, and train nothing; null: where train_env_manager and actor_infer are "
      "described, and nothing of training is");
    v("dump_experience", dump_experience, "write what was trained on, per token, to output_dir/experience");
    v("dump_samples", dump_samples,
      "responses of a step that output_dir/samples shows token by token, for roll report; 0: none", within(0, 1000));
    v("rollout_mock", rollout_mock, "ROLL's spelling of rollout_dump_dir and rollout_replay");
    v("offload", offload, "while a GPU samples, optimizer states, critic and reference move to host memory");
    v("max_restarts", max_restarts, "how often a job whose rank died or hung is started again", within(0, 1000));
    v("max_nonfinite_updates", max_nonfinite_updates,
      "updates in a row that are skipped for a loss or gradient that is NaN or infinite; one more ends the run",
      at_least(0));
    v("actor_train", actor_train, "the policy in training");
    v("actor_infer", actor_infer, "the policy in sampling");
    v("reference", reference, "the frozen policy");
    v("teacher", teacher, "the model that the policy is distilled from, or several by names of their own");
    v("opd_kl_coef", opd_kl_coef, "weight of the KL to teachers that have none of their own; null: 1",
      within(0, 1'000'000));
    v("pure_opd_pipeline_type", pure_opd_pipeline_type, "what is distilled: rlvr, single answers to prompts");
    v("critic", critic, "the value model");
    v("validation", validation, "data and sampling of the validation");
    v("rewards", rewards, "one reward per domain");
    v("reward_model", reward_model, "the judge of all rewards with judge_model_type: cluster");
    dead_fields(v);
  }

 private:
  template <class V>
  void dead_fields(V& v) {
    v.noted({"hydra", "deepspeed_zero*"}, "the file is read as it is, without Hydra");
    v.noted({"defaults"}, "files of this list that are there were read, below what the file says itself");
    v.noted({"checkpoint_config", "base_dir", "save_logging_board_dir"}, "everything is written to output_dir");
    v.noted({"reward_norm", "reward_shift", "reward_scale", "use_reward_scaling", "use_reward_norm", "add_len_reward"},
            "norm_mean_type, norm_std_type and reward_clip decide what happens to rewards");
    v.noted({"postive_loss_coef"}, "ROLL reads it nowhere; positive_loss_coef adds the likelihood of right responses");
    v.noted({"pg_variant"}, "actor_train.pg_variant decides");
    v.noted({"lora_rank", "lora_target", "lora_alpha"}, "only a value for ${...}; actor_train.model_args decides");
    v.noted({"use_topr_neg_loss_coef", "use_topr_loss", "use_policy_loss_type", "l2", "mask_type", "balance_length",
             "minibatch_data_iter_num"},
            "ROLL's RLVR losses do not depend on it; the keys of the clipped PPO loss decide");
    v.noted({"val_greedy", "val_n_sample"}, "validation.generating_args decide");
    v.noted({"reward_filter_*", "generate_redundancy_num"},
            "rewards.<domain>.query_filter_config says what is left out");
    v.noted({"flash_attn", "dataset_dir", "interleave_probs", "use_remove_padding"}, "ROLL itself ignores it here");
    v.noted({"rpc_timeout", "generate_opt_level", "transfer_backend", "offload_nccl", "reward_system_config",
             "user_defined_rollout_loop_cls", "router_args", "model_update_buffer_size_mb", "is_offload_states",
             "is_offload_optimizer_states_in_train_step", "num_nodes", "local_rank", "is_num_return_sequences_expand"},
            "one program runs all roles; there are no engines, routers or remote calls to tune");
    v.noted({"report_length_and_rewards", "length_profiler_dir"}, "metrics.jsonl holds the times");
    v.noted({"num_gpus_per_node"}, "device_mapping, -n and the hostfile say where ranks are");
    v.noted({"model_download_type", "vlm_filter"}, "models are never downloaded by this program, and none sees images");
    v.refused({"dataset_filter"}, "filter the rows of file_name instead");
    v.refused({"reward"}, "describe it under rewards, by domain");
    v.refused({"force_disable_old_logprobs_recompute"}, "set enable_old_logprobs_recompute: false instead");
    v.refused(
        {"student", "student_pretrain", "teacher_pretrain", "distill_*", "kd_*", "logits_t*", "question_key",
         "answer_key"},
        "distils from written answers, as `roll distill` does; remove it, or see is_pure_opd for the policy's own");
    v.refused({"pg_loss_reducer"}, "belongs to the actor; write actor_train.pg_loss_reducer");
  }
};

}  // namespace roll
