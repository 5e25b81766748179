#include "settings/config.h"

#include "config/keys.h"

namespace roll {

void RewardWorkerConfig::fields(Keys& v) {
  reward.fields(v);
  if (has_own_model())
    model.judging_fields(v);
  else
    v.noted({"model_args", "data_args", "generating_args", "strategy_args", "device_mapping", "num_gpus_per_worker",
             "infer_batch_size", "use_sequence_packing", "sequence_packing_args"},
            "a rule reward runs on the CPU and has no model");
}

void TeacherConfig::fields(Keys& v) {
  model.fields(v);
  v("opd_kl_coef", opd_kl_coef, "weight of the KL to this teacher; null: opd_kl_coef at the top level",
    within(0, 1'000'000));
  v("tag_included", tag_included, "domains that this teacher teaches, by tag or name; empty: all");
}

namespace {

void ignored_fields(Keys& v) {
  v.noted({"hydra", "deepspeed_zero*"}, "the file is read as it is, without Hydra");
  v.noted({"defaults"}, "existing files of this list were read; values in this file take precedence");
  v.noted({"checkpoint_config", "base_dir", "save_logging_board_dir"}, "everything is written to output_dir");
  v.noted({"reward_norm", "reward_shift", "reward_scale", "use_reward_scaling", "use_reward_norm", "add_len_reward"},
          "norm_mean_type, norm_std_type and reward_clip set how rewards are changed");
  v.noted({"postive_loss_coef"}, "ROLL never reads it; positive_loss_coef adds the likelihood of right responses");
  v.noted({"pg_variant"}, "actor_train.pg_variant decides");
  v.noted({"lora_rank", "lora_target", "lora_alpha"}, "only a value for ${...}; actor_train.model_args decides");
  v.noted({"use_topr_neg_loss_coef", "use_topr_loss", "use_policy_loss_type", "l2", "mask_type", "balance_length",
           "minibatch_data_iter_num"},
          "ROLL's RLVR losses do not depend on it; the keys of the clipped PPO loss decide");
  v.noted({"val_greedy", "val_n_sample"}, "validation.generating_args decide");
  v.noted({"reward_filter_*", "generate_redundancy_num"},
          "rewards.<domain>.query_filter_config sets the groups to drop");
  v.noted({"flash_attn", "dataset_dir", "interleave_probs", "use_remove_padding"}, "ROLL itself ignores it here");
  v.noted({"rpc_timeout", "generate_opt_level", "transfer_backend", "offload_nccl", "reward_system_config",
           "user_defined_rollout_loop_cls", "router_args", "model_update_buffer_size_mb", "is_offload_states",
           "is_offload_optimizer_states_in_train_step", "num_nodes", "local_rank", "is_num_return_sequences_expand"},
          "one program runs all roles; there are no engines, routers or remote calls to tune");
  v.noted({"report_length_and_rewards", "length_profiler_dir"}, "metrics.jsonl holds the times");
  v.noted({"num_gpus_per_node"}, "device_mapping, -n and the hostfile place the ranks");
  v.noted({"model_download_type", "vlm_filter"}, "this program never downloads models and does not support images");
  v.refused({"dataset_filter"}, "filter the rows of file_name instead");
  v.refused({"reward"}, "describe it under rewards, by domain");
  v.refused({"force_disable_old_logprobs_recompute"}, "set enable_old_logprobs_recompute: false instead");
  v.refused({"student", "student_pretrain", "teacher_pretrain", "distill_*", "kd_*", "logits_t*", "question_key",
             "answer_key"},
            "`roll train` does not use it; remove it; to distil from written answers run `roll distill`; to distil "
            "from the policy's own responses set is_pure_opd: true and describe teacher");
  v.refused({"pg_loss_reducer"}, "belongs to the actor; write actor_train.pg_loss_reducer");
}

}  // namespace

void Config::fields(Keys& v) {
  run_fields(v);
  step_fields(v);
  v("global_template", global_template, "chat template of all data; null: the model's own");
  v("tag_to_template", tag_to_template, "chat template of the rows with a tag");
  v("rollout_dump_dir", rollout_dump_dir, "folder of the rollouts; null: output_dir/rollouts", may_change(),
    only_if(!rollout_replay, rollout_replay));
  v("rollout_replay", rollout_replay, "folder of rollouts to train on instead of sampling");
  v("rollout_only", rollout_only,
    "true: sample, score and keep rollouts without training; null: true if train_env_manager and actor_infer are set "
    "and no training key is set");
  v("dump_experience", dump_experience, "write the training data of each token to output_dir/experience", may_change());
  v("dump_samples", dump_samples,
    "responses of a step that output_dir/samples shows token by token, for roll report; 0: none", within(0, 1000),
    may_change());
  v("rollout_mock", rollout_mock, "ROLL's spelling of rollout_dump_dir and rollout_replay");
  v("offload", offload, "while a GPU samples, optimizer states, critic and reference move to host memory",
    may_change());
  v("max_restarts", max_restarts, "how often a job is restarted after a rank died or hung", within(0, 1000),
    may_change());
  v("max_nonfinite_updates", max_nonfinite_updates,
    "updates in a row that may be skipped because of a NaN or infinite loss or gradient; one more ends the run",
    at_least(0), may_change());
  v("actor_train", actor_train, "the policy in training");
  v("actor_infer", actor_infer, "the policy in sampling");
  v("reference", reference, "the frozen policy",
    only_if(!distils(), experience.is_pure_opd ? experience.is_pure_opd : experience.use_opd));
  v("teacher", teacher, "the model from which the policy is distilled, or several teachers by name");
  v("opd_kl_coef", opd_kl_coef, "weight of the KL to teachers without opd_kl_coef; null: 1", within(0, 1'000'000),
    only_if(distils(), experience.use_opd));
  v("pure_opd_pipeline_type", pure_opd_pipeline_type, "rlvr: distils single answers to prompts");
  v("critic", critic, "the value model", only_if(uses_critic(), experience.adv_estimator));
  v("validation", validation, "data and sampling of the validation", may_change());
  v("rewards", rewards, "one reward per domain");
  v("reward_model", reward_model, "the judge of all rewards with judge_model_type: cluster");
  ignored_fields(v);
}

void Config::run_fields(Keys& v) {
  v("exp_name", exp_name, "name of the run", may_change());
  v("seed", seed, "seed of all random numbers", at_least(0));
  v("deterministic", deterministic,
    "a GPU gives the same bits in every run, with some slower kernels; a CPU always does", may_change());
  v("output_dir", output_dir, "run folder: metrics, rollouts, checkpoints", may_change());
  v("logging_dir", logging_dir, "folder of log.txt; null: output_dir", may_change());
  v("max_steps", max_steps, "steps of the run; null: num_train_epochs decides", round_range(), may_change());
  v("num_train_epochs", num_train_epochs,
    "instead of max_steps: passes over the rows; the run has rows x passes / rollout_batch_size steps", round_range(),
    may_change());
  v("eval_steps", eval_steps, "steps between validations; 0 or -1: never", at_least(-1), may_change(),
    only_if(validates(), validation.data_args.file_name));
  v("logging_steps", logging_steps, "steps between lines on the terminal; files have all steps", at_least(1),
    may_change());
  checkpoints.fields(v);
  track.fields(v);
  v("hostfile", hostfile, "file of hosts, one line \"name slots=N\" per host; null: this host", may_change());
  v("system_envs", system_envs, "environment variables set for the run", may_change());
}

void Config::step_fields(Keys& v) {
  v("rollout_batch_size", rollout_batch_size, "prompts per step", sequence_range());
  v("prompt_length", prompt_length, "longest prompt in tokens; longer rows are dropped and counted", token_range());
  v("response_length", response_length, "longest response in tokens", token_range());
  v("sequence_length", sequence_length, "prompt_length + response_length; one of the two is required", token_range());
  v("val_prompt_length", val_prompt_length, "prompt_length of the validation; null: the same", token_range(),
    may_change());
  v("val_sequence_length", val_sequence_length, "sequence_length of the validation; null: the same", token_range(),
    may_change());
  v("num_return_sequences_in_group", num_return_sequences_in_group, "responses per prompt", sequence_range());
  v("max_running_requests", max_running_requests, "sequences sampled at once", sequence_range(), may_change());
  v("is_use_additional_prompts", is_use_additional_prompts,
    "a domain whose query_filter_config drops groups samples extra prompts in advance; the step trains on the same "
    "groups",
    may_change());
  v("use_additional_prompts", use_additional_prompts, "an older name of is_use_additional_prompts", may_change());
  v("max_additional_running_prompts", max_additional_running_prompts,
    "extra prompts of such a domain in flight, beyond the missing ones", sequence_range(), may_change(),
    only_with(is_use_additional_prompts));
  v("async_generation_ratio", async_generation_ratio,
    "steps by which sampling may run ahead of training, on separate devices; a fraction: this part of a step's groups",
    within(0, 64));
  v("pretrain", pretrain, "the policy's first weights: HF folder or Hub name");
  v("reward_pretrain", reward_pretrain, "the critic's first weights; null: pretrain");
  v("ppo_epochs", ppo_epochs, "passes over a step's experience", round_range());
  v("max_grad_norm", max_grad_norm, "gradients are scaled down to this norm", above_to(0, 1e12));
  v("critic_warmup", critic_warmup, "number of first steps that train only the critic", at_least(0));
  v("enable_reference", enable_reference, "true: measure the KL to the reference even if no loss or reward needs it",
    may_change());
  v("enable_old_logprobs_recompute", enable_old_logprobs_recompute,
    "compute old log-probs before a step's first update; null: if something reads them, for example several updates");
  v("routing_replay", routing_replay,
    "true: training uses the experts that the sampler's routers chose for each token");
  loss.fields(v);
  v.only_if(loss.value_clip, uses_critic(), experience.adv_estimator);
  experience.fields(v);
  agentic.fields(v);
}

}  // namespace roll
